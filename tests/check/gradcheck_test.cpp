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

TEST(Gradcheck, ShowsBothJacobians) {
  auto f = [](const Tensors& in) { return Tensors{Scaled::apply(in[0], 2.0)}; };
  std::string text;
  try {
    autograd::gradcheck(f, {input()});
  } catch (const Error& e) {
    text = e.what();
  }
  // 2 x by differences, 4 x by the formula, on the diagonal.
  for (const char* words :
       {"numerical:\n  [0.6, 0, 0]\n  [0, -2.4, 0]", "analytical:\n  [1.2, 0, 0]\n  [0, -4.8, 0]"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in " << text;
}

// x^2, whose backward adds what the test asks for.
struct Careless : autograd::Function<Careless> {
  static inline double constant = 0, per_call = 0;
  static inline int calls = 0;
  static Tensor forward(autograd::AutogradContext* ctx, Tensor x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static Tensors backward(autograd::AutogradContext* ctx, Tensors g) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {g[0] * (2 * x + per_call * ++calls) + constant};
  }
};

std::string fault(double constant, double per_call) {
  Careless::constant = constant;
  Careless::per_call = per_call;
  try {
    autograd::gradcheck([](const Tensors& in) { return Tensors{Careless::apply(in[0])}; },
                        {input()});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Gradcheck, RefusesABackwardThatIgnoresItsGradient) {
  EXPECT_EQ(fault(0, 0), "");
  // As small as the tolerance of the differences is, it is not 0 for a gradient of 0.
  EXPECT_NE(fault(1e-7, 0).find("not multiplied by grad_output"), std::string::npos);
}

TEST(Gradcheck, RefusesABackwardThatDiffersFromCallToCall) {
  EXPECT_NE(fault(0, 1e-7).find("not reentrant"), std::string::npos);
}

TEST(Gradcheck, NamesUnfitInputs) {
  auto f = [](const Tensors& in) { return Tensors{in[0] * in[0]}; };
  EXPECT_THROW(autograd::gradcheck(f, {input().detach()}), ValueError);
  Tensor shorter = tensor({1.0}, TensorOptions().dtype(kFloat32));
  shorter.requires_grad_(true);
  EXPECT_THROW(autograd::gradcheck(f, {shorter}), TypeError);
}

}  // namespace
