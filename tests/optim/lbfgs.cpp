// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/lbfgs.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"
#include "tests/support.h"

namespace tenon {
namespace {

using optim::LBFGS;
using optim::LBFGSOptions;
using optim::LBFGSParamState;
using test::expect_words;
using test::text_of;

// Rosenbrock's function of three variables, in two parameters.
struct Rosenbrock {
  Tensor x = tensor({-1.2, 1.0}, kFloat64).requires_grad_(true);
  Tensor y = tensor({0.5}, kFloat64).reshape({1, 1}).requires_grad_(true);

  Tensor loss() const {
    const Tensor z = cat({x, y.reshape({-1})}), head = z.narrow(0, 0, 2), tail = z.narrow(0, 1, 2);
    return ((tail - head * head).pow(2) * 100 + (1 - head).pow(2)).sum();
  }
  double step(LBFGS& optimizer) const {
    return optimizer
        .step([&] {
          optimizer.zero_grad();
          const Tensor l = loss();
          l.backward();
          return l;
        })
        .item<double>();
  }
  const LBFGSParamState& state(LBFGS& optimizer) const {
    return static_cast<LBFGSParamState&>(*optimizer.state().at(x.unsafeGetTensorImpl()));
  }
};

struct Expected {
  double loss, x0, x1, y;
  int64_t func_evals, n_iter;
};

void expect_trajectory(const LBFGSOptions& options, const std::vector<Expected>& steps) {
  const Rosenbrock f;
  LBFGS optimizer({f.x, f.y}, options);
  for (const Expected& e : steps) {
    EXPECT_NEAR(f.step(optimizer), e.loss, 1e-6);
    EXPECT_NEAR(f.x[0].item<double>(), e.x0, 1e-6);
    EXPECT_NEAR(f.x[1].item<double>(), e.x1, 1e-6);
    EXPECT_NEAR(f.y.item<double>(), e.y, 1e-6);
    EXPECT_EQ(f.state(optimizer).func_evals(), e.func_evals);
    EXPECT_EQ(f.state(optimizer).n_iter(), e.n_iter);
  }
}

// Values of torch.optim.LBFGS 2.15.
TEST(LBFGS, StepsOfFixedLength) {
  expect_trajectory(
      LBFGSOptions(0.05).max_iter(6).history_size(3),
      {{49.199999999999996, -1.1285950066032129, 0.958233430161481, 0.5493168451580983, 6, 6},
       {28.094573155394023, -1.0844608655086803, 0.9384640507266683, 0.6032878144771159, 12, 12},
       {17.69029903131886, -1.0510514115895284, 0.9281507001614044, 0.6557167512516658, 18, 18},
       {11.562441609825141, -1.0256486078440288, 0.9224384098834385, 0.699486996624729, 24, 24}});
}

TEST(LBFGS, LineSearch) {
  expect_trajectory(
      LBFGSOptions(1).max_iter(6).history_size(3).line_search_fn("strong_wolfe"),
      {{49.199999999999996, -0.8810074607843362, 0.7863974363385454, 0.6220741638258119, 7, 6},
       {3.5956013026379616, -0.7403347788574495, 0.5476986807890531, 0.2724597452018794, 15, 10},
       {3.309059947568342, -0.5539410926022065, 0.29919165346111615, 0.08374525209502691, 23, 14},
       {2.9150611534444715, -0.17844805033159056, 0.02087812976049075, 0.00041260653469884297, 30,
        18}});
}

// To the minimum at (1, 1, 1), from a start that lies behind the bend of the valley.
TEST(LBFGS, FollowsTheValleyToItsEnd) {
  const Rosenbrock f;
  LBFGS optimizer({f.x, f.y}, LBFGSOptions(1).line_search_fn("strong_wolfe"));
  int steps = 0;
  while (f.loss().item<double>() >= 1e-6 && steps < 100) {
    f.step(optimizer);
    ++steps;
  }
  EXPECT_LT(f.loss().item<double>(), 1e-6) << "after " << steps << " steps";
  EXPECT_TRUE(allclose(f.x, ones({2}, kFloat64), 0, 5e-3)) << f.x;
  EXPECT_NEAR(f.y.item<double>(), 1, 5e-3);
}

// A regression on eight points, with a penalty of fourth order, in two parameters.
struct Regression {
  Tensor x = (arange(24, kFloat64) * 1.3).sin().reshape({8, 3});
  Tensor y = (arange(8, kFloat64) * 2).cos().gt(0).to(kFloat64);
  Tensor w = zeros({3}, kFloat64).requires_grad_(true);
  Tensor b = zeros({1}, kFloat64).requires_grad_(true);

  double step(LBFGS& optimizer) const {
    return optimizer
        .step([&] {
          optimizer.zero_grad();
          const Tensor l = binary_cross_entropy_with_logits(x.matmul(w) + b, y) +
                           0.01 * (w * w).sum() + 0.05 * w.pow(4).sum();
          l.backward();
          return l;
        })
        .item<double>();
  }
};

struct Reached {
  int step;
  double loss;
  std::vector<double> w;
  double b;
};

void expect_20_steps(const LBFGSOptions& options, const std::vector<Reached>& expected) {
  const Regression f;
  LBFGS optimizer({f.w, f.b}, options);
  auto want = expected.begin();
  for (int step = 1; step <= 20; ++step) {
    const double loss = f.step(optimizer);
    if (want == expected.end() || want->step != step) continue;
    EXPECT_NEAR(loss, want->loss, 1e-9) << "step " << step;
    EXPECT_TRUE(allclose(f.w, tensor(want->w, kFloat64), 0, 1e-7)) << "step " << step << f.w;
    EXPECT_NEAR(f.b.item<double>(), want->b, 1e-7) << "step " << step;
    ++want;
  }
  EXPECT_TRUE(want == expected.end());
}

// Values of torch.optim.LBFGS 2.15: one iteration a step, of which the history holds five.
TEST(LBFGS, TwentyStepsOfFixedLength) {
  expect_20_steps(LBFGSOptions(0.2).max_iter(1).history_size(5),
                  {{1,
                    0.6931471805599453,
                    {-0.024320524370674713, 0.015113867703929189, 0.03240640818425085},
                    0},
                   {2,
                    0.6840166300726647,
                    {-0.11152739919711913, 0.1019035899398425, 0.16598275549885316},
                    0.0017775574658642384},
                   {10,
                    0.6003818452442151,
                    {-0.40183295350030107, 0.39469322521079303, 0.49992883988664305},
                    0.003760191890813312},
                   {20,
                    0.5987796821963761,
                    {-0.45251316766443167, 0.43596491380144725, 0.5352773739576484},
                    0.0036463903054415507}});
}

// The same, to the minimum, in which it stays.
TEST(LBFGS, TwentyStepsOfLineSearch) {
  expect_20_steps(
      LBFGSOptions(1).max_iter(2).history_size(4).line_search_fn("strong_wolfe"),
      {{1, 0.6931471805599453, {-0.12160262185337356, 0.07556933851964594, 0.16203204092125423}, 0},
       {2,
        0.6519254395231953,
        {-0.45819431229288937, 0.44537147575561886, 0.6887979038274682},
        0.008446401982296731},
       {5,
        0.5988049019695248,
        {-0.45475246964708976, 0.4397009670938982, 0.5440560378823888},
        0.0036845271195045364},
       {20,
        0.598762773532502,
        {-0.4579774012992512, 0.44049044136307786, 0.5396726520677578},
        0.0036204942464403865}});
}

// Saving in the middle and going on elsewhere gives the same bits as going on here.
TEST(LBFGS, ResumesFromFile) {
  const auto options = LBFGSOptions(1).max_iter(4).line_search_fn("strong_wolfe");
  const Rosenbrock f, g;
  LBFGS one({f.x, f.y}, options), two({g.x, g.y});
  for (int i = 0; i < 3; ++i) f.step(one);
  std::stringstream file;
  save(one, file);
  load(two, file);
  g.x.set_data(f.x.detach().clone());
  g.y.set_data(f.y.detach().clone());
  EXPECT_TRUE(f.state(one) == g.state(two));
  EXPECT_TRUE(static_cast<LBFGSOptions&>(one.param_groups()[0].options()) ==
              static_cast<LBFGSOptions&>(two.param_groups()[0].options()));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f.step(one), g.step(two));
  EXPECT_TRUE(equal(f.x, g.x));
}

TEST(LBFGS, AStateOfAnotherSizeIsRefused) {
  const Rosenbrock f;
  LBFGS one({f.x, f.y}), two({f.x, ones({2, 2}, kFloat64)});
  f.step(one);
  std::stringstream file;
  save(one, file);
  expect_words(text_of<ValueError>([&] { load(two, file); }), {"'d' has sizes [3]", "[6]"});
}

TEST(LBFGS, RefusesWhatItCannotDo) {
  const Rosenbrock f;
  LBFGS lbfgs({f.x});
  expect_words(text_of<ValueError>([&] { lbfgs.step(); }), {"LBFGS requires a closure function"});
  expect_words(text_of<ValueError>([&] {
                 LBFGS({optim::OptimizerParamGroup({f.x}), optim::OptimizerParamGroup({f.y})});
               }),
               {"doesn't support per-parameter options"});
  expect_words(text_of<ValueError>([&] { LBFGS({f.x}, LBFGSOptions().line_search_fn("armijo")); }),
               {"only 'strong_wolfe' is supported", "armijo"});
}

// A parameter without a gradient counts as zeros, and stays.
TEST(LBFGS, AParameterWithoutGradientStays) {
  const Tensor a = full({2}, 3., requires_grad()), b = full({2}, 7., requires_grad());
  LBFGS lbfgs({a, b});
  lbfgs.step([&] {
    lbfgs.zero_grad();
    const Tensor l = (a * a).sum();
    l.backward();
    return l;
  });
  EXPECT_TRUE(allclose(a, zeros({2}), 1e-5, 1e-5));
  EXPECT_TRUE(equal(b, full({2}, 7.)));
}

}  // namespace
}  // namespace tenon
