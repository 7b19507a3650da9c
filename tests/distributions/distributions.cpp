// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers are those of torch.distributions 2.15.
#include "tenon/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
using namespace tenon::distributions;
using test::expect_words;
using test::text_of;

namespace {

Tensor f64(std::vector<double> v) { return tensor(v, kFloat64); }

void expect_values(const Tensor& given, std::vector<double> wanted) {
  const Tensor flat = given.reshape({-1});
  ASSERT_EQ(flat.numel(), static_cast<int64_t>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double v = flat[static_cast<int64_t>(i)].item<double>();
    if (std::isinf(wanted[i]))
      EXPECT_EQ(v, wanted[i]) << i;
    else
      EXPECT_NEAR(v, wanted[i], 1e-9) << i;
  }
}

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Distributions, NormalHasTorchsValues) {
  const Normal p(f64({0.5, -1}), f64({2, 0.3})), q(f64({0, 0}), f64({1, 1.5}));
  expect_values(p.log_prob(f64({1, -0.8})), {-1.643335713764618, 0.06281204889904135});
  expect_values(p.entropy(), {2.112085713764618, 0.21496572887873655});
  expect_values(kl_divergence(p, q), {0.9318528194400547, 1.3516601346563228});
}

TEST(Distributions, UniformHasTorchsValues) {
  const Uniform p(f64({0, -1}), f64({2, 4})), q(f64({-1, 0}), f64({3, 5}));
  expect_values(p.log_prob(f64({1, -0.8})), {-0.6931471805599453, -1.6094379124341003});
  expect_values(p.log_prob(f64({2, -1.5})), {-kInf, -kInf});
  expect_values(p.entropy(), {0.6931471805599453, 1.6094379124341003});
  expect_values(kl_divergence(p, q), {0.6931471805599453, kInf});
  expect_values(p.variance(), {0.3333333333333333, 2.0833333333333335});
}

TEST(Distributions, BernoulliHasTorchsValues) {
  const Bernoulli p(f64({0.3, 0.9})), q(f64({0.5, 0.2}));
  expect_values(p.log_prob(f64({1, 0})), {-1.2039728043259361, -2.302585092994046});
  expect_values(p.entropy(), {0.6108643020548935, 0.3250829733914482});
  expect_values(kl_divergence(p, q), {0.08228287850505181, 1.145725502930663});
  expect_values(kl_divergence(Bernoulli(f64({0.5, 0})), Bernoulli(f64({1, 0}))), {kInf, 0});
  const Bernoulli by_logits = Bernoulli::from_logits(p.logits);
  expect_values(by_logits.probs, {0.3, 0.9});
}

TEST(Distributions, CategoricalHasTorchsValues) {
  const Categorical p(f64({1, 2, 1, 0, 3, 1}).reshape({2, 3}));
  const auto q = Categorical::from_logits(f64({0.1, 0.2, -0.5, 1, 0, 0}).reshape({2, 3}));
  expect_values(p.log_prob(tensor({1, 2})), {-0.6931471805599453, -1.3862943611198906});
  expect_values(p.entropy(), {1.0397207708399179, 0.5623351446188083});
  expect_values(kl_divergence(p, q), {0.03634059163842293, 0.9891095693132427});
  EXPECT_EQ(p.log_prob(zeros({5, 2}, kLong)).sizes(), IntArrayRef({5, 2}));
}

TEST(Distributions, ExponentialHasTorchsValues) {
  const Exponential p(f64({0.5, 3})), q(f64({2, 1}));
  expect_values(p.log_prob(f64({1, 0.25})), {-1.1931471805599454, 0.3486122886681098});
  expect_values(p.entropy(), {1.6931471805599454, -0.09861228866810978});
  expect_values(kl_divergence(p, q), {1.6137056388801092, 0.43194562200144304});
}

TEST(Distributions, GammaHasTorchsValues) {
  const Gamma p(f64({0.5, 3}), f64({2, 0.7})), q(f64({1.5, 2}), f64({1, 1}));
  expect_values(p.log_prob(f64({1, 2.5})), {-2.2257913526447273, -1.6805905486278325});
  expect_values(p.entropy(), {-0.6025372506459566, 2.204253454301744});
  expect_values(kl_divergence(p, q), {2.0600836163013954, 0.8020015523753425});
}

TEST(Distributions, BetaHasTorchsValues) {
  const Beta p(f64({0.5, 3}), f64({2, 0.7})), q(f64({1.5, 2}), f64({1, 1}));
  expect_values(p.log_prob(f64({0.2, 0.7})), {0.29389333245105953, 0.12189985299409223});
  expect_values(p.entropy(), {-0.7652789553347761, -0.7014726189655216});
  expect_values(kl_divergence(p, q), {1.6931471805599447, 0.2526946426686203});
  expect_values(p.variance(), {0.045714285714285714, 0.032637582953856666});
}

TEST(Distributions, DirichletHasTorchsValues) {
  const Dirichlet p(f64({0.5, 1, 2, 3, 2, 1}).reshape({2, 3}));
  const Dirichlet q(f64({1, 1, 1, 2, 2, 2}).reshape({2, 3}));
  expect_values(p.log_prob(f64({0.2, 0.3, 0.5, 0.1, 0.1, 0.8}).reshape({2, 3})),
                {0.7401804350794791, -2.8134107167600364});
  expect_values(p.entropy(), {-1.4815696872089312, -1.2443445622221008});
  expect_values(kl_divergence(p, q), {0.7884225066489858, 0.8068528194400547});
  expect_values(p.variance().select(0, 1),
                {0.03571428571428571, 0.031746031746031744, 0.01984126984126984});
}

// Mean and variance of 40,000 draws, within six standard errors of the mean and 10 % of the
// variance.
void expect_moments(const Distribution& d) {
  manual_seed(7);
  const Tensor x = d.sample({40000}).to(kFloat64);
  EXPECT_FALSE(x.requires_grad());
  const Tensor error = (x.mean(0) - d.mean()).abs() / (d.variance() / 40000).sqrt();
  EXPECT_LT(error.max().item<double>(), 6);
  EXPECT_LT((x.var(0) / d.variance() - 1).abs().max().item<double>(), 0.1);
}

TEST(Distributions, DrawsHaveTheirMoments) {
  const Tensor a = f64({0.5, 3}), b = f64({2, 4});
  expect_moments(Normal(a, b));
  expect_moments(Uniform(a, b));
  expect_moments(Bernoulli(f64({0.3, 0.9})));
  expect_moments(Exponential(a));
  expect_moments(Gamma(a, b));
  expect_moments(Beta(a, b));
  expect_moments(Dirichlet(f64({0.5, 1, 2})));
}

TEST(Distributions, CategoriesComeAsOftenAsTheirProbabilitiesSay) {
  manual_seed(7);
  const Categorical d(f64({1, 2, 1, 0, 3, 1}).reshape({2, 3}));
  const Tensor x = d.sample({40000});
  EXPECT_EQ(x.sizes(), IntArrayRef({40000, 2}));
  for (int64_t k = 0; k < 3; ++k) {
    const Tensor share = (x == k).to(kFloat64).mean(0);
    EXPECT_LT((share - d.probs.select(1, k)).abs().max().item<double>(), 0.015) << k;
  }
}

TEST(Distributions, ShapesAreThoseOfSampleBatchAndEvent) {
  EXPECT_EQ(Normal(zeros({3, 1}), ones({2})).sample({5}).sizes(), IntArrayRef({5, 3, 2}));
  EXPECT_EQ(Dirichlet(ones({2, 4})).sample({5, 1}).sizes(), IntArrayRef({5, 1, 2, 4}));
  EXPECT_EQ(Dirichlet(ones({2, 4})).batch_shape(), std::vector<int64_t>{2});
  EXPECT_EQ(Beta(ones({3}), ones({})).sample().sizes(), IntArrayRef({3}));
}

// d(loc + z * scale) is 1 for loc and z for scale.
TEST(Distributions, DrawsAreDifferentiableByTheirParameters) {
  const Tensor loc = f64({1}).requires_grad_(true), scale = f64({2}).requires_grad_(true);
  const Tensor x = Normal(loc, scale).rsample();
  x.sum().backward();
  expect_values(loc.grad(), {1});
  expect_values(scale.grad(), {((x - loc) / scale).item<double>()});
  // The mean of many draws is concentration / rate.
  manual_seed(3);
  const Tensor a = f64({1.5}).requires_grad_(true), r = f64({2}).requires_grad_(true);
  Gamma(a, r).rsample({20000}).mean().backward();
  EXPECT_NEAR(a.grad().item<double>(), 0.5, 0.02);
  EXPECT_NEAR(r.grad().item<double>(), -0.375, 0.02);
  expect_words(text_of<NotImplementedError>([] { Bernoulli(f64({0.5})).rsample(); }), {"rsample"});
}

TEST(Distributions, RefuseBadParameters) {
  expect_words(text_of<ValueError>([] { Normal(f64({0}), f64({-1})); }),
               {"Normal", "scale", "greater than 0"});
  expect_words(text_of<ValueError>([] { Uniform(f64({2}), f64({1})); }), {"low", "less than high"});
  expect_words(text_of<ValueError>([] { Bernoulli(f64({1.5})); }), {"probs", "from 0 to 1"});
  expect_words(text_of<ValueError>([] { Categorical(f64({0, 0})); }), {"positive sum"});
  expect_words(text_of<ValueError>([] { Dirichlet(tensor(1.)); }), {"at least one dimension"});
}

}  // namespace
