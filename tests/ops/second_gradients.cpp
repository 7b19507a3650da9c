// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of gradients: what a call saves has the history that it had at the time. tools/check
// compares all operators.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/gradcheck.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

Tensor leaf(std::vector<double> values) {
  const auto n = static_cast<int64_t>(values.size());
  return from_blob(values.data(), {n}, TensorOptions(kDouble)).clone().requires_grad_();
}

// The gradient of the sum of f(x), and the gradient of the sum of that.
std::pair<Tensor, Tensor> twice(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const Tensor g = autograd::grad({f(x).sum()}, {x}, {}, true, true)[0];
  const Tensor again = autograd::grad({g.sum()}, {x}, {}, true, false, true)[0];
  return {g.detach(), again.defined() ? again : zeros_like(x)};
}

void expect_near(const Tensor& got, std::vector<double> wanted) {
  EXPECT_TRUE(allclose(got, leaf(std::move(wanted)).detach(), 1e-10, 1e-12)) << got;
}

TEST(SecondGradients, AfterAWriteInPlace) {
  const Tensor x = leaf({0.3, -0.7, 1.9});
  const auto [g, again] = twice([](const Tensor& t) { return (t * 1).sin_(); }, x);
  EXPECT_TRUE(allclose(g, x.detach().cos()));
  EXPECT_TRUE(allclose(again, -x.detach().sin()));
}

TEST(SecondGradients, AfterAPolygammaInPlace) {
  const Tensor x = leaf({0.3, 0.7, 1.9});
  const auto [g, again] = twice([](const Tensor& t) { return (t * 1).polygamma_(1); }, x);
  EXPECT_TRUE(allclose(g, polygamma(2, x.detach())));
  EXPECT_TRUE(allclose(again, polygamma(3, x.detach())));
}

TEST(SecondGradients, AfterAWriteThroughAView) {
  const Tensor x = leaf({0.3, -0.7, 1.9});
  const auto f = [](const Tensor& t) {
    Tensor y = t * 1;
    y.slice(0, 0, 2, 1).sin_();
    y[1].mul_(t[2]);
    return y;
  };
  const Tensors in = {x};
  EXPECT_TRUE(autograd::gradcheck([&](const Tensors& t) { return Tensors{f(t[0])}; }, in));
  EXPECT_TRUE(autograd::gradgradcheck([&](const Tensors& t) { return Tensors{f(t[0])}; }, in));
}

// |g|^2 of y /= b, by hand: the gradient by b is -y / b^2.
TEST(SecondGradients, ByTheOtherOperand) {
  const Tensor x = leaf({2.0}), b = leaf({0.5});
  Tensor y = x * 1;
  y.div_(b);
  const Tensor g = autograd::grad({y.sum()}, {b}, {}, true, true)[0];
  const Tensors again = autograd::grad({(g * g).sum()}, {x, b});
  expect_near(again[0], {2 * 2.0 / (0.5 * 0.5 * 0.5 * 0.5)});
  expect_near(again[1], {-4 * 2.0 * 2.0 / (0.5 * 0.5 * 0.5 * 0.5 * 0.5)});
}

// Its parts save self for the gradient of the other operand, and the write comes after.
TEST(SecondGradients, OfACompositeThatWritesToATensorWithoutHistory) {
  const Tensor b = leaf({0.5, 3.0});
  Tensor y = leaf({2.0, 5.0}).detach();
  y.multiply_(b);
  y.sum().backward();
  expect_near(b.grad(), {2.0, 5.0});
}

// What a hook changes before the write it changes in both gradients.
TEST(SecondGradients, PassHooksOfBeforeTheWrite) {
  const Tensor x = leaf({0.4});
  Tensor y = x * 1;
  y.register_hook([](const Tensor& g) { return g * 3; });
  y.sin_();
  const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
  const Tensor again = autograd::grad({g.sum()}, {x})[0];
  EXPECT_NEAR(g.item<double>(), 3 * std::cos(0.4), 1e-12);
  EXPECT_NEAR(again.item<double>(), -9 * std::sin(0.4),
              1e-12);  // the seed of cos passes the hook, too
}

// A saved copy holds no more of the graph than the call itself.
TEST(SecondGradients, LeaveNoNodesBehind) {
  const int64_t before = autograd::live_nodes();
  {
    const Tensor x = leaf({0.3, 0.2});
    Tensor y = x * 1;
    for (int i = 0; i < 20; ++i) y.sin_().mul_(y * 2);
    const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
    autograd::grad({g.sum()}, {x});
  }
  EXPECT_EQ(autograd::live_nodes(), before);
}

TEST(SecondGradients, OfProductsWithZeros) {
  // d(sum of g)/dx, of torch.
  const auto [g, again] = twice([](const Tensor& t) { return t.cumprod(0); }, leaf({2, 0, 3, 0}));
  expect_near(g, {1, 8, 0, 0});
  expect_near(again, {4, 12, 2, 6});
  const auto [one, second] = twice([](const Tensor& t) { return t.cumprod(0); }, leaf({0, 0, 0}));
  expect_near(one, {1, 0, 0});
  expect_near(second, {1, 1, 0});
  const auto [p, pp] = twice([](const Tensor& t) { return t.prod(); }, leaf({2, 0, 3}));
  expect_near(p, {0, 6, 0});
  expect_near(pp, {3, 5, 2});
}

TEST(SecondGradients, OfCumulativeOperatorsByDifferences) {
  const Tensor x =
      (arange(24, TensorOptions(kDouble)).view({4, 3, 2}) * 0.7).cos().requires_grad_();
  for (int64_t dim : {0, 1, 2}) {
    const Tensors in = {x};
    for (bool product : {false, true}) {
      const auto f = [&](const Tensors& t) {
        return Tensors{product ? t[0].cumprod(dim) : t[0].logcumsumexp(dim)};
      };
      EXPECT_TRUE(autograd::gradcheck(f, in));
      EXPECT_TRUE(autograd::gradgradcheck(f, in));
    }
  }
}

}  // namespace
}  // namespace tenon
