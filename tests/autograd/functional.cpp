// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/functional.h"

#include <gtest/gtest.h>

#include "tests/autograd/support.h"

namespace tenon {
namespace {

namespace functional = autograd::functional;
using autograd::variable_list;
using test::expect_words;
using test::text_of;

TEST(Functional, OfALinearMapAreProductsWithItsMatrix) {
  manual_seed(1);
  const Tensor a = random({3, 4}), x = random({4}), u = random({3}), v = random({4});
  const auto f = [&](const Tensor& t) { return a.mv(t); };
  const auto [value, vj] = functional::vjp(f, x, u);
  expect_close(value, a.mv(x));
  expect_close(vj, a.t().mv(u));
  expect_close(functional::jvp(f, x, v).second, a.mv(v));
  expect_close(functional::jacobian(f, x), a);
  EXPECT_FALSE(value.requires_grad());
  EXPECT_FALSE(vj.requires_grad());
}

TEST(Functional, OfAQuadraticFormAreProductsWithItsMatrix) {
  manual_seed(2);
  const Tensor m = random({4, 4}), x = random({4}), v = random({4});
  const Tensor h = m + m.t();
  const auto f = [&](const Tensor& t) { return t.dot(m.mv(t)); };
  expect_close(functional::hvp(f, x, v).second, h.mv(v));
  expect_close(functional::vhp(f, x, v).second, h.mv(v));
  expect_close(functional::hvp(f, x, v).first, f(x));
  expect_close(functional::hessian(f, x), h);
}

TEST(Functional, TakeSeveralInputsAndOutputs) {
  manual_seed(3);
  const Tensor x = random({2, 3}), y = random({3}), vx = random({2, 3}), vy = random({3});
  const auto f = [](const variable_list& in) {
    return variable_list{in[0] * in[1], in[1].sin(), in[0].sum()};
  };
  const auto [values, products] = functional::jvp(f, {x, y}, {vx, vy});
  ASSERT_EQ(products.size(), 3u);
  expect_close(products[0], vx * y + x * vy);
  expect_close(products[1], y.cos() * vy);
  expect_close(products[2], vx.sum());
  const auto rows = functional::jacobian(f, {x, y});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0][0].sizes(), IntArrayRef({2, 3, 2, 3}));
  expect_close(rows[1][0], zeros({3, 2, 3}, TensorOptions(kDouble)));  // independent of x
  expect_close(rows[1][1], y.cos().diag());
  expect_close(rows[2][0], ones({2, 3}, TensorOptions(kDouble)));
}

TEST(Functional, HessianHasABlockPerPairOfInputs) {
  manual_seed(4);
  const Tensor x = random({2}), y = random({3});
  const auto f = [](const variable_list& in) {
    return variable_list{in[0].exp().sum() * in[1].pow(2).sum()};
  };
  const auto h = functional::hessian(f, {x, y});
  expect_close(h[0][0], (x.exp() * y.pow(2).sum()).diag());
  expect_close(h[0][1], x.exp().unsqueeze(1) * (2 * y).unsqueeze(0));
  expect_close(h[1][0], h[0][1].t());
  const Tensor vx = random({2}), vy = random({3});
  const auto [value, product] = functional::hvp(f, {x, y}, {vx, vy});
  expect_close(value, f({x, y})[0]);
  expect_close(product[0], h[0][0].mv(vx) + h[0][1].mv(vy));
  expect_close(product[1], h[1][0].mv(vx) + h[1][1].mv(vy));
}

TEST(Functional, CreateGraphGoesThroughToTheInputs) {
  manual_seed(5);
  const Tensor x = random({3}).requires_grad_(), v = random({3}).requires_grad_();
  const auto f = [](const Tensor& t) { return t.pow(3); };
  const Tensor product = functional::jvp(f, x, v, /*create_graph=*/true).second;
  const auto g = autograd::grad({product.sum()}, {x, v});
  expect_close(g[0], (6 * x * v).detach());
  expect_close(g[1], (3 * x * x).detach());
  EXPECT_FALSE(functional::jvp(f, x, v).second.requires_grad());
}

// Three steps of gradient descent, differentiated by the step size.
TEST(Functional, AnUnrolledOptimizationIsDifferentiated) {
  const auto end = [](const Tensor& rate) {
    Tensor w = ones({1}, TensorOptions(kDouble)).requires_grad_();
    for (int i = 0; i < 3; ++i) {
      const Tensor g = autograd::grad({(w * w).sum()}, {w}, {}, true, /*create_graph=*/true)[0];
      w = w - rate * g;
    }
    return w;
  };
  const Tensor rate = tensor({0.1}, TensorOptions(kDouble));
  // w = (1 - 2 r)^3
  expect_close(functional::jacobian(end, rate), tensor({{-6 * 0.8 * 0.8}}, TensorOptions(kDouble)));
}

TEST(Functional, RefusesWhatDoesNotFit) {
  const auto f = [](const Tensor& t) { return t * 2; };
  const Tensor x = random({3});
  expect_words(text_of<ValueError>([&] { functional::jvp(f, x, random({4})); }),
               {"jvp", "v[0] has shape [4]", "[3]"});
  expect_words(text_of<ValueError>([&] { functional::vjp(f, x, Tensor()); }),
               {"vjp", "one output with one element"});
  expect_words(text_of<ValueError>([&] { functional::hvp(f, x, x); }),
               {"hvp", "one tensor with one element"});
  expect_words(text_of<TypeError>([&] { functional::jacobian(f, arange(3)); }),
               {"jacobian", "input 0", "floating-point"});
}

}  // namespace
}  // namespace tenon
