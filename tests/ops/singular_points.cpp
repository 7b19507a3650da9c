// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients where a formula divides by zero, multiplies zero by infinity, or must choose: bounds,
// ties, NaN. The wanted numbers are torch 2.15's, unless a comment says otherwise.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

using Values = std::vector<double>;
using Tensors = std::vector<Tensor>;

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();

struct SingularPoint {
  const char* what;
  std::function<Tensor(const Tensors&)> call;
  std::vector<Values> inputs, gradients;
  double seed = 1;
};

Tensor row(const Values& v) { return tensor(ArrayRef<double>(v), TensorOptions(kDouble)); }

Tensors leaves(const std::vector<Values>& inputs) {
  Tensors out;
  for (const Values& v : inputs) out.push_back(row(v).requires_grad_());
  return out;
}

void expect_gradients(const SingularPoint& c) {
  const Tensors in = leaves(c.inputs);
  const Tensor y = c.call(in);
  const Tensors got = autograd::grad({y}, in, {full_like(y, c.seed)});
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(allclose(got[i], row(c.gradients[i]), 1e-9, 1e-12, true))
        << c.what << ", argument " << i << got[i];
  }
}

const SingularPoint kCases[] = {
    {"std", [](const Tensors& t) { return t[0].std(); }, {{2, 2, 2, 2}}, {{0, 0, 0, 0}}},
    {"std of zeros", [](const Tensors& t) { return t[0].std(0, false); }, {{0, 0}}, {{0, 0}}},
    {"std_mean",
     [](const Tensors& t) {
       return std::get<0>(std_mean(t[0], true)) + std::get<1>(std_mean(t[0], true));
     },
     {{2, 2, 2, 2}},
     {{0.25, 0.25, 0.25, 0.25}}},
    {"logit",
     [](const Tensors& t) { return t[0].logit(); },
     {{-1, 0, 0.5, 1, 2, kNaN}},
     {{kNaN, kInf, 4, kInf, kNaN, kNaN}}},
    {"angle", [](const Tensors& t) { return t[0].angle(); }, {{-1, 0, 1, kNaN}}, {{0, 0, 0, 0}}},
    {"atan2",
     [](const Tensors& t) { return t[0].atan2(t[1]); },
     {{0, 0, 1}, {0, 2, 0}},
     {{0, 0.5, 0}, {0, 0, -1}}},
    // torch: 0, as the square of 1e-200 is.
    {"atan2 of tiny numbers",
     [](const Tensors& t) { return t[0].atan2(t[1]); },
     {{0}, {1e-200}},
     {{1e200}, {0}}},
    {"xlogy without gradient",
     [](const Tensors& t) { return t[0].xlogy(t[1]); },
     {{1, 2, 0, 1}, {-1, 0, 0, 2}},
     {{0, 0, 0, 0}, {0, kNaN, kNaN, 0}},
     0},
    {"fmax",
     [](const Tensors& t) { return fmax(t[0], t[1]); },
     {{1, kNaN, kNaN, 2, 3}, {1, 1, kNaN, kNaN, 2}},
     {{0.5, 0, 1, 1, 1}, {0.5, 1, 0, 0, 0}}},
    {"fmin",
     [](const Tensors& t) { return fmin(t[0], t[1]); },
     {{1, kNaN, kNaN, 2, 3}, {1, 1, kNaN, kNaN, 2}},
     {{0.5, 0, 1, 1, 0}, {0.5, 1, 0, 0, 1}}},
    {"clamp",
     [](const Tensors& t) { return t[0].clamp(0, 1); },
     {{0, 1, 0.5, -1, 2}},
     {{0, 0, 1, 0, 0}}},
    {"clamp_min", [](const Tensors& t) { return t[0].clamp_min(0); }, {{0, 1, -1}}, {{0, 1, 0}}},
    {"clamp_max", [](const Tensors& t) { return t[0].clamp_max(0); }, {{0, 1, -1}}, {{0, 0, 1}}},
    {"clamp_min.Tensor",
     [](const Tensors& t) { return t[0].clamp_min(t[1]); },
     {{0, 1, 0.5}, {0, 2, 0.2}},
     {{0.5, 0, 1}, {0.5, 1, 0}}},
    {"clamp_max.Tensor",
     [](const Tensors& t) { return t[0].clamp_max(t[1]); },
     {{0, 1, 0.5}, {0, 2, 0.2}},
     {{0.5, 1, 0}, {0.5, 0, 1}}},
    {"nextafter",
     [](const Tensors& t) { return t[0].nextafter(t[1]); },
     {{1, 2}, {1, 3}},
     {{0, 1}, {0, 0}}},
    {"relu", [](const Tensors& t) { return relu(t[0]); }, {{0, -0.0, 1}}, {{0, 0, 1}}},
    {"relu6", [](const Tensors& t) { return relu6(t[0]); }, {{0, 6, 1}}, {{0, 0, 1}}},
    {"hardtanh", [](const Tensors& t) { return hardtanh(t[0]); }, {{-1, 1, 0}}, {{0, 0, 1}}},
    {"leaky_relu",
     [](const Tensors& t) { return leaky_relu(t[0], 0.25); },
     {{0, -0.0, 1}},
     {{0.25, 0.25, 1}}},
    {"threshold", [](const Tensors& t) { return threshold(t[0], 2, 5); }, {{2, 2.5}}, {{0, 1}}},
    {"hardshrink", [](const Tensors& t) { return hardshrink(t[0]); }, {{-0.5, 0.5}}, {{0, 0}}},
    {"softshrink", [](const Tensors& t) { return softshrink(t[0]); }, {{-0.5, 0.5}}, {{0, 0}}},
    {"abs", [](const Tensors& t) { return abs(t[0]); }, {{0, -0.0}}, {{0, 0}}},
    {"hardswish", [](const Tensors& t) { return hardswish(t[0]); }, {{-3, 3, 0}}, {{0, 1, 0.5}}},
    {"max", [](const Tensors& t) { return t[0].max(); }, {{1, kNaN, 2, kNaN}}, {{0, 0.5, 0, 0.5}}},
    // torch: NaN everywhere.
    {"amin",
     [](const Tensors& t) { return t[0].amin(0); },
     {{1, kNaN, 2, kNaN}},
     {{0, 0.5, 0, 0.5}}},
    {"median", [](const Tensors& t) { return t[0].median(); }, {{1, 2, 2, 3}}, {{0, 0.5, 0.5, 0}}},
    {"nanmedian",
     [](const Tensors& t) { return t[0].nanmedian(); },
     {{1, kNaN, 1, 3}},
     {{0.5, 0, 0.5, 0}}},
    {"smooth_l1_loss",
     [](const Tensors& t) { return smooth_l1_loss(t[0], t[1], 0); },
     {{0, kInf, 0.5, 2, kNaN}, {kInf, 1, 0, 0, 0}},
     {{-1, 1, 0.5, 1, kNaN}, {1, -1, -0.5, -1, kNaN}}},
    {"huber_loss",
     [](const Tensors& t) { return huber_loss(t[0], t[1], 0, 1.5); },
     {{0, kInf, 0.5, 2, kNaN}, {kInf, 1, 0, 0, 0}},
     {{-1.5, 1.5, 0.5, 1.5, kNaN}, {1.5, -1.5, -0.5, -1.5, kNaN}}},
    {"binary_cross_entropy",
     [](const Tensors& t) {
       return binary_cross_entropy(t[0], row({0, 1, 1, 0, 0.5}), {}, 0);
     },
     {{0, 1, 0, 1, 0.25}},
     {{0, 0, -1e12, 1e12, -4.0 / 3}}},
    {"logit",
     [](const Tensors& t) { return t[0].logit(); },
     {{0, 1, 0.25}},
     {{kInf, kInf, 16.0 / 3}}},
};

TEST(SingularPoints, HaveTheGradientsOfTorch) {
  for (const SingularPoint& c : kCases) expect_gradients(c);
}

const SingularPoint kSecond[] = {
    {"i0",
     [](const Tensors& t) { return t[0].i0(); },
     {{0, 1, -2}},
     {{0.5, 0.7009067737595235, 1.484266875017402}}},
    {"elu",
     [](const Tensors& t) { return elu(t[0]); },
     {{0, 800, -1}},
     {{0, 0, 0.36787944117144233}}},
    // torch: NaN. By hand.
    {"sinc", [](const Tensors& t) { return t[0].sinc(); }, {{0}}, {{-3.2898681336964524}}},
    // From 60 digits. By differences of quotients 3e-5 has three digits left.
    {"sinc near zero",
     [](const Tensors& t) { return t[0].sinc(); },
     {{1e-7, 3e-5, -1e-3, 0.01, 0.159, 0.16}},
     {{-3.28986813369635546, -3.28986812492963468, -3.28985839279307203, -3.28889410001019583,
       -3.04724208759371539, -3.04422671805202877}}},
    {"pow",
     [](const Tensors& t) {
       return t[0].pow(row({2, 3, 1}));
     },
     {{0, 0, 0}},
     {{2, 0, 0}}},
    {"xlogy",
     [](const Tensors& t) {
       return t[0].xlogy(row({2, 0}));
     },
     {{3, 0}},
     {{0, 0}}},
};

TEST(SingularPoints, HaveSecondGradients) {
  for (const SingularPoint& c : kSecond) {
    const Tensors in = leaves(c.inputs);
    const Tensor g = autograd::grad({c.call(in).sum()}, in, {}, true, true)[0];
    const Tensor got =
        g.requires_grad() ? autograd::grad({g.sum()}, in, {}, true, false, true)[0] : Tensor();
    const Tensor second = got.defined() ? got : zeros_like(in[0]);
    EXPECT_TRUE(allclose(second, row(c.gradients[0]), 1e-9, 1e-12)) << c.what << second;
  }
}

// Of exponents that are tensors the mixed derivative of x^e at e = 0 is 1 / x, whichever comes
// first.
TEST(SingularPoints, PowersOfZeroHaveTheSameMixedDerivativeBothWays) {
  const Tensor x = row({2}).requires_grad_(), e = row({0}).requires_grad_();
  const Tensors g = autograd::grad({x.pow(e)}, {x, e}, {}, true, true);
  EXPECT_NEAR(autograd::grad({g[0]}, {e}, {}, true)[0].item<double>(), 0.5, 1e-12);
  EXPECT_NEAR(autograd::grad({g[1]}, {x}, {}, true)[0].item<double>(), 0.5, 1e-12);
}

// The logarithms of gradients that torch adds up leave 1e-5 of them in float32; differences are
// float64's.
TEST(SingularPoints, LogcumsumexpIsExactInFloat) {
  for (const Values& v :
       {Values{100, 5, -30, 101, 90}, Values{10, -3, 7, 11, 2}, Values{-90, -3, -50, -1, 0}}) {
    const auto gradient = [&](ScalarType t) {
      const Tensor x = row(v).to(t).detach().requires_grad_();
      const Tensor y = x.logcumsumexp(0);
      return autograd::grad({(y * row({1, -2, 3, 0, 0.5}).to(t)).sum()}, {x})[0];
    };
    EXPECT_TRUE(allclose(gradient(kFloat).to(kDouble), gradient(kDouble), 2e-5, 1e-30))
        << gradient(kFloat);
  }
}

}  // namespace
}  // namespace tenon
