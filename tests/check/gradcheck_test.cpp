// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/gradcheck.h"

#include <gtest/gtest.h>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace {

using namespace tenon;
using Tensors = std::vector<Tensor>;

// Its gradient is that of x * x times `factor`.
struct Scaled : autograd::Function<Scaled> {
  static Tensor forward(autograd::AutogradContext* ctx, Tensor x, double factor) {
    ctx->save_for_backward({x});
    ctx->saved_data["factor"] = factor;
    return x * x;
  }
  static Tensors backward(autograd::AutogradContext* ctx, Tensors g) {
    Tensor x = ctx->get_saved_variables()[0];
    return {g[0] * x * Scalar(2 * ctx->saved_data["factor"].toDouble()), Tensor()};
  }
};

Tensor input() {
  Tensor x = tensor({0.3, -1.2, 2.1}, TensorOptions().dtype(kFloat64));
  x.requires_grad_(true);
  return x;
}

TEST(Gradcheck, AcceptsARightGradient) {
  auto f = [](const Tensors& in) { return Tensors{Scaled::apply(in[0], 1.0)}; };
  EXPECT_TRUE(autograd::gradcheck(f, {input()}));
  EXPECT_TRUE(autograd::gradgradcheck(f, {input()}));
}

TEST(Gradcheck, RefusesAWrongGradient) {
  auto f = [](const Tensors& in) { return Tensors{Scaled::apply(in[0], 1.01)}; };
  EXPECT_THROW(autograd::gradcheck(f, {input()}), Error);
  autograd::GradcheckOptions quiet;
  quiet.raise = false;
  EXPECT_FALSE(autograd::gradcheck(f, {input()}, quiet));
}

TEST(Gradcheck, RefusesAGradientThatIsCutOff) {
  auto f = [](const Tensors& in) { return Tensors{in[0].detach() * in[0]}; };
  EXPECT_THROW(autograd::gradcheck(f, {input()}), Error);
}

TEST(Gradcheck, NamesUnfitInputs) {
  auto f = [](const Tensors& in) { return Tensors{in[0] * in[0]}; };
  EXPECT_THROW(autograd::gradcheck(f, {input().detach()}), ValueError);
  Tensor shorter = tensor({1.0}, TensorOptions().dtype(kFloat32));
  shorter.requires_grad_(true);
  EXPECT_THROW(autograd::gradcheck(f, {shorter}), TypeError);
}

}  // namespace
