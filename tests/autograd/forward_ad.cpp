// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dual tensors against difference quotients. `tenon check` judges the tangents of each operator
// (tools/check/gradients.cpp).
#include "tenon/autograd/forward_ad.h"

#include <gtest/gtest.h>

#include "tenon/creation.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

namespace forward_ad = autograd::forward_ad;
using forward_ad::DualLevelGuard;
using forward_ad::make_dual;
using forward_ad::unpack_dual;
using test::expect_words;
using test::text_of;

Tensor random(IntArrayRef sizes) { return randn(sizes, TensorOptions(kDouble)); }

template <class F>
void expect_tangent(F&& f, const Tensor& x, double tolerance = 1e-7) {
  const Tensor v = random(x.sizes());
  constexpr double kStep = 1e-6;
  const Tensor quotient = (f(x + v * kStep) - f(x - v * kStep)) / (2 * kStep);
  const DualLevelGuard level;
  const auto [primal, tangent] = unpack_dual(f(make_dual(x, v)));
  ASSERT_TRUE(tangent.defined());
  EXPECT_TRUE(equal(primal, f(x)));
  EXPECT_FALSE(tangent.requires_grad());
  EXPECT_TRUE(allclose(tangent, quotient, 1e-5, tolerance)) << tangent << quotient;
}

TEST(ForwardAd, FollowsTheChainRule) {
  manual_seed(1);
  const Tensor x = random({3, 4}), w = random({4, 5});
  expect_tangent([](const Tensor& t) { return t.exp() * t.sin(); }, x);
  expect_tangent([&](const Tensor& t) { return t.mm(w).softmax(1).log(); }, x);
  expect_tangent([](const Tensor& t) { return t.pow(2).sum({0}).sqrt().cumsum(0); }, x);
  expect_tangent([](const Tensor& t) { return layer_norm(t, {4}); }, x);
  expect_tangent([](const Tensor& t) { return rms_norm(t, {4}); }, x);
  expect_tangent([](const Tensor& t) { return t.mm(t.t()).inverse(); }, random({3, 3}) + 5 * eye(3),
                 1e-5);
  expect_tangent([](const Tensor& t) { return std::get<0>(t.sort(1)).select(1, 2); }, x);
}

TEST(ForwardAd, PassesThroughModules) {
  manual_seed(2);
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(2, 3, 3)), nn::BatchNorm2d(3), nn::ReLU(),
                     nn::MaxPool2d(2), nn::Flatten(), nn::Linear(3, 2));
  net->to(kDouble);
  for (const Tensor& p : net->parameters()) p.requires_grad_(false);
  net->eval();
  expect_tangent([&](const Tensor& t) { return net->forward(t); }, random({2, 2, 4, 4}));
}

TEST(ForwardAd, PassesThroughViewsAndWrites) {
  manual_seed(3);
  const Tensor x = random({3, 4}), y = random({4});
  expect_tangent([](const Tensor& t) { return t.t().select(0, 1).unsqueeze(0).expand({2, 3}); }, x);
  const auto writes = [&](const Tensor& t) {
    Tensor out = zeros({3, 4}, TensorOptions(kDouble));
    out.select(0, 1).copy_(t.select(0, 2).exp());
    out.mul_(t);
    out.narrow(1, 0, 2).add_(t.narrow(1, 2, 2) * 3);
    return out;
  };
  expect_tangent(writes, x);
  const DualLevelGuard level;
  const Tensor dual = make_dual(x.clone(), ones_like(x));
  dual.mul_(y);  // the dual tensor itself
  EXPECT_TRUE(allclose(unpack_dual(dual).tangent, y.expand({3, 4})));
}

// The mask is that of the run.
TEST(ForwardAd, UsesTheNumbersThatWereDrawn) {
  const Tensor x = ones({1000}, TensorOptions(kDouble));
  const DualLevelGuard level;
  const auto [y, tangent] = unpack_dual(dropout(make_dual(x, x), 0.5, true));
  EXPECT_TRUE(equal(y, tangent));
  EXPECT_GT(y.sum().item<double>(), 0);
}

TEST(ForwardAd, OfComplexFunctions) {
  manual_seed(4);
  const Tensor z = randn({5}, TensorOptions(kComplexDouble)), v = randn({5}, z.options());
  const DualLevelGuard level;
  const auto [y, tangent] = unpack_dual((make_dual(z, v) * z).exp());
  EXPECT_TRUE(allclose(tangent, z * v * y));
}

TEST(ForwardAd, OfComplexActivations) {
  manual_seed(5);
  const Tensor z = randn({5}, TensorOptions(kComplexDouble)), v = randn({5}, z.options());
  const DualLevelGuard level;
  const Tensor dual = make_dual(z, v), t = z.tanh(), s = z.sigmoid();
  EXPECT_TRUE(allclose(unpack_dual(dual.tanh()).tangent, v * (1 - t * t)));
  EXPECT_TRUE(allclose(unpack_dual(dual.sigmoid()).tangent, v * s * (1 - s)));
  EXPECT_TRUE(allclose(unpack_dual(silu(dual)).tangent, v * (s + z * s * (1 - s))));
}

TEST(ForwardAd, KeepsTheRecordingOfLeaves) {
  const Tensor x = full({2}, 3., TensorOptions(kDouble)).requires_grad_(),
               v = ones_like(x.detach());
  const DualLevelGuard level;
  const auto [y, tangent] = unpack_dual(make_dual(x, v).pow(3));
  EXPECT_TRUE(equal(tangent.detach(), full({2}, 27., TensorOptions(kDouble))));
  EXPECT_EQ(autograd::grad({tangent.sum()}, {x})[0].select(0, 0).item<double>(), 18);
  EXPECT_EQ(autograd::grad({y.sum()}, {x})[0].select(0, 0).item<double>(), 27);
  EXPECT_FALSE(unpack_dual(y * 2).tangent.defined());  // a primal has no tangent
}

TEST(ForwardAd, OfWhatDependsOnNoDualIsUndefined) {
  const Tensor x = ones({2});
  const DualLevelGuard level;
  const Tensor dual = make_dual(x, x);
  EXPECT_FALSE(unpack_dual(x * 2).tangent.defined());
  EXPECT_FALSE(unpack_dual(dual.detach() * 2).tangent.defined());
  EXPECT_TRUE(equal(unpack_dual(dual.ge(0).to(kFloat) * dual * 0).tangent, zeros({2})));
}

TEST(ForwardAd, TangentsEndWithTheirLevel) {
  const Tensor x = ones({2});
  Tensor y;
  {
    const DualLevelGuard level;
    y = make_dual(x, x) * 2;
    EXPECT_TRUE(unpack_dual(y).tangent.defined());
  }
  EXPECT_FALSE(unpack_dual(y).tangent.defined());
  const DualLevelGuard another;
  EXPECT_FALSE(unpack_dual(y).tangent.defined());
}

TEST(ForwardAd, RefusesASecondLevel) {
  const uint64_t level = forward_ad::enter_dual_level();
  EXPECT_EQ(level, 0u);  // as in torch, where programs write the number
  expect_words(text_of([] { forward_ad::enter_dual_level(); }), {"Nested forward mode"});
  expect_words(text_of([&] { forward_ad::exit_dual_level(level + 1); }), {"exit_dual_level"});
  forward_ad::exit_dual_level(level);
  expect_words(text_of([&] { forward_ad::exit_dual_level(level); }), {"not entered"});
  EXPECT_EQ(forward_ad::enter_dual_level(), 0u);
  forward_ad::exit_dual_level(0);
}

TEST(ForwardAd, RefusesWhatCannotBeDual) {
  const Tensor x = ones({2});
  expect_words(text_of([&] { make_dual(x, x); }), {"make_dual", "enter_dual_level"});
  const DualLevelGuard level;
  expect_words(text_of<ValueError>([&] { make_dual(x, ones({3})); }), {"[3]", "expected [2]"});
  expect_words(text_of<TypeError>([&] { make_dual(x, x.to(kDouble)); }), {"tangent is Double"});
  expect_words(text_of<TypeError>([&] { make_dual(arange(2), arange(2)); }), {"floating-point"});
  expect_words(text_of([&] { make_dual(make_dual(x, x), x); }), {"has a tangent"});
  const NoGradGuard no_grad;
  expect_words(text_of([&] { make_dual(x, x); }), {"nothing is recorded"});
}

}  // namespace
}  // namespace tenon
