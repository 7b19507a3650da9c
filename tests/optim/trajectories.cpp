// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// 1001 steps of each optimizer against its published formula, number by number in double. The
// gradients pull to a minimum that moves, so that running means never settle.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "tenon/ops.h"
#include "tenon/optim.h"

namespace tenon {
namespace {

using State = std::array<double, 4>;  // of one number; zeros before the first step
// Moves x by its gradient g in step t, counted from 1.
using Formula = std::function<void(double& x, double g, double t, State& s)>;
using Make = std::function<std::unique_ptr<optim::Optimizer>(const Tensor&)>;

constexpr int kSteps = 1001, kNumbers = 5;

double gradient(double x, int i, int step) {
  return (0.2 + i) * (x - std::sin(0.01 * step + i)) + 0.3 * std::cos(1.7 * step * (i + 1));
}

void follow(const Make& make, const Formula& formula, double start = 2) {
  std::vector<double> x(kNumbers);
  for (int i = 0; i < kNumbers; ++i) x[static_cast<std::size_t>(i)] = start - i;
  std::vector<State> states(kNumbers, State{});
  Tensor p = tensor(x, kDouble).requires_grad_();
  const auto optimizer = make(p);
  for (int step = 1; step <= kSteps; ++step) {
    Tensor g = empty({kNumbers}, kDouble);
    double* of = g.data_ptr<double>();
    for (int i = 0; i < kNumbers; ++i) {
      const auto at = static_cast<std::size_t>(i);
      of[i] = gradient(p.data_ptr<double>()[i], i, step);
      formula(x[at], gradient(x[at], i, step), step, states[at]);
    }
    p.mutable_grad() = g;
    optimizer->step();
    for (int i = 0; i < kNumbers; ++i) {
      const double want = x[static_cast<std::size_t>(i)];
      ASSERT_NEAR(p.data_ptr<double>()[i], want, 1e-6 * (1 + std::fabs(want)))
          << "number " << i << " after step " << step;
    }
  }
  EXPECT_GT(std::fabs(x[0] - start), 0.1) << "it has not moved";
}

template <class Optimizer, class Options>
Make of(Options options) {
  return [options](const Tensor& p) {
    return std::make_unique<Optimizer>(std::vector<Tensor>{p}, options);
  };
}

TEST(Trajectories, SGD) {
  follow(of<optim::SGD>(optim::SGDOptions(0.02)),
         [](double& x, double g, double, State&) { x -= 0.02 * g; });
  for (const bool nesterov : {false, true}) {
    const double dampening = nesterov ? 0 : 0.1;
    follow(
        of<optim::SGD>(
            optim::SGDOptions(0.02).momentum(0.9).dampening(dampening).weight_decay(0.05).nesterov(
                nesterov)),
        [=](double& x, double g, double t, State& s) {
          g += 0.05 * x;
          s[0] = t == 1 ? g : 0.9 * s[0] + (1 - dampening) * g;
          x -= 0.02 * (nesterov ? g + 0.9 * s[0] : s[0]);
        });
  }
}

// Kingma and Ba 2015, algorithm 1; with amsgrad Reddi and others 2018; AdamW: Loshchilov and Hutter
// 2019.
Formula adam(bool amsgrad, bool decoupled) {
  return [=](double& x, double g, double t, State& s) {
    if (decoupled) x -= 0.01 * 0.1 * x;
    if (!decoupled) g += 0.1 * x;
    s[0] = 0.8 * s[0] + (1 - 0.8) * g;
    s[1] = 0.99 * s[1] + (1 - 0.99) * g * g;
    s[2] = std::max(s[2], s[1]);
    const double v = (amsgrad ? s[2] : s[1]) / (1 - std::pow(0.99, t));
    x -= 0.01 * s[0] / (1 - std::pow(0.8, t)) / (std::sqrt(v) + 1e-6);
  };
}
template <class Options>
Options adam_options() {
  return Options(0.01).betas({0.8, 0.99}).eps(1e-6).weight_decay(0.1);
}

TEST(Trajectories, AdamAndAdamW) {
  for (const bool amsgrad : {false, true}) {
    follow(of<optim::Adam>(adam_options<optim::AdamOptions>().amsgrad(amsgrad)),
           adam(amsgrad, false));
    follow(of<optim::AdamW>(adam_options<optim::AdamWOptions>().amsgrad(amsgrad)),
           adam(amsgrad, true));
  }
}

TEST(Trajectories, Adamax) {  // Kingma and Ba 2015, algorithm 2
  follow(of<optim::Adamax>(adam_options<optim::AdamaxOptions>()),
         [](double& x, double g, double t, State& s) {
           g += 0.1 * x;
           s[0] = 0.8 * s[0] + (1 - 0.8) * g;
           s[1] = std::max(0.99 * s[1], std::fabs(g) + 1e-6);
           x -= 0.01 / (1 - std::pow(0.8, t)) * s[0] / s[1];
         });
}

// Liu and others 2020, algorithm 2; rectified above 5, as torch does.
TEST(Trajectories, RAdam) {
  follow(of<optim::RAdam>(adam_options<optim::RAdamOptions>()), [](double& x, double g, double t,
                                                                   State& s) {
    g += 0.1 * x;
    s[0] = 0.8 * s[0] + (1 - 0.8) * g;
    s[1] = 0.99 * s[1] + (1 - 0.99) * g * g;
    const double left = 1 - std::pow(0.99, t), mean = s[0] / (1 - std::pow(0.8, t));
    const double all = 2 / (1 - 0.99) - 1, now = all - 2 * t * (1 - left) / left;
    double rate = 1;
    if (now > 5) {
      const double r = std::sqrt((now - 4) * (now - 2) * all / ((all - 4) * (all - 2) * now));
      rate = r * std::sqrt(left) / (std::sqrt(s[1]) + 1e-6);
    }
    x -= 0.01 * mean * rate;
  });
}

TEST(Trajectories, Adagrad) {  // Duchi and others 2011
  follow(of<optim::Adagrad>(optim::AdagradOptions(0.1).lr_decay(0.001).weight_decay(0.1).eps(1e-6)),
         [](double& x, double g, double t, State& s) {
           g += 0.1 * x;
           s[0] += g * g;
           x -= 0.1 / (1 + (t - 1) * 0.001) * g / (std::sqrt(s[0]) + 1e-6);
         });
}

TEST(Trajectories, Adadelta) {  // Zeiler 2012
  follow(of<optim::Adadelta>(optim::AdadeltaOptions(1.0).rho(0.95).eps(1e-4).weight_decay(0.1)),
         [](double& x, double g, double, State& s) {
           g += 0.1 * x;
           s[0] = 0.95 * s[0] + (1 - 0.95) * g * g;
           const double by = std::sqrt(s[1] + 1e-4) / std::sqrt(s[0] + 1e-4) * g;
           s[1] = 0.95 * s[1] + (1 - 0.95) * by * by;
           x -= by;
         });
}

// Hinton 2012; centered: Graves 2013.
TEST(Trajectories, RMSprop) {
  for (const bool centered : {false, true}) {
    follow(of<optim::RMSprop>(optim::RMSpropOptions(0.01)
                                  .alpha(0.9)
                                  .eps(1e-4)
                                  .weight_decay(0.1)
                                  .momentum(0.5)
                                  .centered(centered)),
           [=](double& x, double g, double, State& s) {
             g += 0.1 * x;
             s[0] = 0.9 * s[0] + (1 - 0.9) * g * g;
             s[1] = 0.9 * s[1] + (1 - 0.9) * g;
             const double square = centered ? s[0] - s[1] * s[1] : s[0];
             s[2] = 0.5 * s[2] + g / (std::sqrt(square) + 1e-4);
             x -= 0.01 * s[2];
           });
  }
}

// Polyak and Juditsky 1992, with Bottou's step sizes. The average begins after step 200.
TEST(Trajectories, ASGD) {
  const auto options = optim::ASGDOptions(0.02).lambd(0.01).alpha(0.7).t0(200).weight_decay(0.1);
  const auto formula = [](double& x, double g, double t, State& s) {
    const double eta = 0.02 / std::pow(1 + 0.01 * 0.02 * (t - 1), 0.7);
    g += 0.1 * x;
    x = x * (1 - 0.01 * eta) - eta * g;
    s[0] += (x - s[0]) / std::max(1., t - 1 - 200);
  };
  follow(of<optim::ASGD>(options), formula);
  // The average of what the formula itself gives.
  Tensor p = full({1}, 2.0, kDouble).requires_grad_();
  optim::ASGD asgd({p}, options);
  double x = 2;
  State s{};
  for (int step = 1; step <= kSteps; ++step) {
    p.mutable_grad() = full({1}, gradient(p.item<double>(), 0, step), kDouble);
    asgd.step();
    formula(x, gradient(x, 0, step), step, s);
  }
  const auto& state =
      static_cast<const optim::ASGDParamState&>(*asgd.state().at(p.unsafeGetTensorImpl()));
  EXPECT_NEAR(state.ax().item<double>(), s[0], 1e-6);
}

TEST(Trajectories, Rprop) {  // Riedmiller and Braun 1993, without weight backtracking
  follow(of<optim::Rprop>(optim::RpropOptions(0.01).etas({0.6, 1.1}).step_sizes({1e-4, 0.5})),
         [](double& x, double g, double t, State& s) {
           if (t == 1) s[1] = 0.01;
           const double product = g * s[0];
           if (product > 0) s[1] = std::min(s[1] * 1.1, 0.5);
           if (product < 0) s[1] = std::max(s[1] * 0.6, 1e-4), g = 0;
           x -= g > 0 ? s[1] : g < 0 ? -s[1] : 0;
           s[0] = g;
         });
}

}  // namespace
}  // namespace tenon
