// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

using autograd::AutogradContext;
using autograd::variable_list;
using test::expect_words;
using test::text_of;

// x^3, with a backward that computes in a way that no gradient follows.
struct Cube : autograd::Function<Cube> {
  static constexpr bool once_differentiable = true;
  static inline bool recorded = false;
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    const Tensor x = ctx->get_saved_variables()[0];
    recorded = GradMode::is_enabled();
    return {g[0] * 3 * x * x};
  }
};

TEST(OnceDifferentiable, GivesTheFirstGradient) {
  const Tensor x = full({2}, 2.).requires_grad_();
  Cube::apply(x).sum().backward();
  EXPECT_TRUE(equal(x.grad(), full({2}, 12.)));
}

TEST(OnceDifferentiable, RefusesTheSecond) {
  const Tensor x = full({2}, 2.).requires_grad_();
  const Tensor first =
      autograd::grad({Cube::apply(x).sum()}, {x}, {}, true, /*create_graph=*/true)[0];
  EXPECT_FALSE(Cube::recorded);
  EXPECT_TRUE(equal(first.detach(), full({2}, 12.)));
  EXPECT_TRUE(first.requires_grad());
  expect_words(text_of([&] { first.sum().backward(); }),
               {"differentiate twice", "once_differentiable", "Cube"});
}

struct Twice : autograd::Function<Twice> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext*, Tensor x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 2}; }
};

TEST(OnceDifferentiable, KeepsAConstantGradientConstant) {
  const Tensor x = full({2}, 2.).requires_grad_();
  const Tensor first = autograd::grad({Twice::apply(x)}, {x}, {ones({2})}, true, true)[0];
  EXPECT_FALSE(first.requires_grad());  // neither the gradient given nor what is saved asks for one
}

}  // namespace
}  // namespace tenon
