// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The reparameterized gradient of a Dirichlet value, against distribution functions that have a
// closed form and against expectations.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/autograd.h"
#include "tenon/distributions.h"
#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
using test::expect_words;
using test::text_of;

namespace {

// The distribution function of Beta(a, b) at x for a whole b.
Tensor beta_cdf(const Tensor& x, const Tensor& a, int b) {
  Tensor sum = zeros_like(x);
  for (int j = 0; j < b; ++j) {
    sum =
        sum +
        (a * x.log() + lgamma(a + j) - lgamma(a) - std::lgamma(j + 1.0) + j * (1 - x).log()).exp();
  }
  return sum;
}

// - dF/da / dF/dx / (1 - x)
Tensor slope_by_autograd(const Tensor& x_in, const Tensor& a_in, int b) {
  const Tensor x = x_in.clone().requires_grad_(), a = a_in.clone().requires_grad_();
  const auto both = autograd::grad({beta_cdf(x, a, b).sum()}, {x, a});
  return (-both[1] / both[0] / (1 - x)).detach();
}

TEST(DirichletGrad, IsTheSlopeOfTheDistributionFunction) {
  const Tensor x = linspace(0.02, 0.98, 49, kDouble);
  for (int b : {1, 2, 5, 12}) {
    for (double shape : {0.05, 0.5, 1.0, 3.0, 20.0}) {
      const Tensor a = full_like(x, shape);
      // Where F is 1 but for rounding, its slope by differences of sums is that of rounding.
      const Tensor told = beta_cdf(x, a, b).lt(1 - 1e-6);
      const Tensor want = slope_by_autograd(x, a, b).masked_select(told);
      const Tensor got = _dirichlet_grad(x, a, a + b).masked_select(told);
      ASSERT_GT(got.numel(), 5);
      EXPECT_LT(((got - want) / want).abs().max().item<double>(), 1e-6) << shape << " " << b;
    }
  }
}

TEST(DirichletGrad, HasAClosedFormForAPower) {  // Beta(a, 1) is U ^ (1 / a)
  const Tensor x = tensor({1e-6, 0.3, 0.999999}, kDouble), a = tensor({0.01, 2., 700.}, kDouble);
  const Tensor want = -x * x.log() / (a * (1 - x));
  EXPECT_TRUE(allclose(dirichlet_grad(x, a, a + 1), want, 1e-6, 0));
  EXPECT_EQ(_dirichlet_grad(zeros({1}), ones({1}), full({1}, 3.0)).item<float>(), 0);
}

TEST(DirichletGrad, GivesGradientsOfExpectations) {
  manual_seed(3);
  const Tensor alpha = tensor({0.7, 2.0, 4.0}, kDouble).requires_grad_();
  const Tensor x = distributions::Dirichlet(alpha).rsample({200000});
  const Tensor drawn = x.detach(), total = alpha.detach().sum().expand_as(drawn);
  // Of E[x0 ^ 2 + x1], by torch's backward of a Dirichlet draw.
  Tensor of_draws = zeros_like(drawn);
  of_draws.select(1, 0).copy_(2 * drawn.select(1, 0));
  of_draws.select(1, 1).fill_(1);
  const Tensor slope = _dirichlet_grad(drawn, alpha.detach().expand_as(drawn), total);
  const Tensor estimate = (slope * (of_draws - (drawn * of_draws).sum(-1, true))).mean({0});
  const Tensor sum = alpha.sum();
  const Tensor expected = alpha[0] * (alpha[0] + 1) / (sum * (sum + 1)) + alpha[1] / sum;
  const Tensor want = autograd::grad({expected}, {alpha})[0];
  EXPECT_LT((estimate - want).abs().max().item<double>(), 2e-3);
  // What rsample itself does: the gammas' gradients.
  const Tensor mean = (x.select(1, 0).square() + x.select(1, 1)).mean();
  EXPECT_LT((autograd::grad({mean}, {alpha})[0] - want).abs().max().item<double>(), 2e-3);
}

TEST(DirichletGrad, BroadcastsAndKeepsTheDtype) {
  const Tensor x = rand({4, 3}) * 0.9 + 0.05, alpha = ones({3});
  const Tensor got = _dirichlet_grad(x, alpha, tensor(3.f));
  EXPECT_EQ(got.scalar_type(), kFloat);
  EXPECT_EQ(got.sizes(), x.sizes());
  expect_words(text_of([&] { _dirichlet_grad(x.to(kLong), alpha, alpha); }),
               {"_dirichlet_grad", "Long", "floating"});
}

}  // namespace
