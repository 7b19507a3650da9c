// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/nn/utils.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

double deviation(const Tensor& t) {
  const Tensor x = t.to(kFloat64);
  return std::sqrt(((x - x.mean()) * (x - x.mean())).mean().item<double>());
}

TEST(Init, Deviations) {
  manual_seed(3);
  const Tensor w = zeros({400, 300}, requires_grad());
  nn::init::xavier_uniform_(w, 2);
  EXPECT_NEAR(deviation(w.detach()), 2 * std::sqrt(2.0 / 700), 0.001);
  nn::init::xavier_normal_(w);
  EXPECT_NEAR(deviation(w.detach()), std::sqrt(2.0 / 700), 0.001);
  nn::init::kaiming_uniform_(w, 0, kFanOut, kReLU);
  EXPECT_NEAR(deviation(w.detach()), std::sqrt(2.0 / 400), 0.001);
  nn::init::kaiming_normal_(w, 1);
  EXPECT_NEAR(deviation(w.detach()), std::sqrt(1.0 / 300), 0.001);
  EXPECT_TRUE(w.is_leaf());
  EXPECT_EQ(nn::init::calculate_gain(kTanh), 5.0 / 3);
  EXPECT_THROW(nn::init::xavier_normal_(zeros({3})), ValueError);
}

TEST(Init, Orthogonal) {
  for (const auto& shape : {std::vector<int64_t>{6, 4}, {4, 6}, {5, 5}, {3, 2, 4}}) {
    const Tensor w = nn::init::orthogonal_(zeros(shape, kFloat64)).reshape({shape[0], -1});
    const Tensor product = w.size(0) > w.size(1) ? w.t().mm(w) : w.mm(w.t());
    EXPECT_LT((product - eye(product.size(0), kFloat64)).abs().max().item<double>(), 1e-12);
  }
}

TEST(Init, Patterns) {
  EXPECT_TRUE(equal(nn::init::eye_(zeros({2, 3})), eye(2, 3)));
  const Tensor d = nn::init::dirac_(zeros({2, 2, 3}));
  EXPECT_EQ(d.sum().item<float>(), 2);
  EXPECT_EQ(d.select(2, 1).diagonal().sum().item<float>(), 2);
  const Tensor s = nn::init::sparse_(zeros({10, 4}), 0.3);
  EXPECT_EQ((s == 0).sum().item<int64_t>(), 12);
}

TEST(Utils, ClipGradients) {
  Tensor a = zeros({2}, requires_grad()), b = zeros({1}, requires_grad());
  a.mutable_grad() = full({2}, 3.0);
  b.mutable_grad() = full({1}, 4.0);
  EXPECT_NEAR(nn::utils::clip_grad_norm_({a, b}, 1.0), std::sqrt(34.0), 1e-5);
  EXPECT_NEAR(nn::utils::clip_grad_norm_({a, b}, 10.0), 1.0, 1e-5);
  EXPECT_NEAR(nn::utils::clip_grad_norm_({a, b}, 10.0, INFINITY), 4 / std::sqrt(34.0), 1e-5);
  nn::utils::clip_grad_value_({a, b}, 0.1);
  EXPECT_FLOAT_EQ(b.grad().item<float>(), 0.1f);
}

TEST(Utils, ParametersToVectorAndBack) {
  const std::vector<Tensor> p = {arange(4, kFloat32).reshape({2, 2}), full({1}, 9.0)};
  const Tensor v = nn::utils::parameters_to_vector(p);
  EXPECT_EQ(v.sizes(), (std::vector<int64_t>{5}));
  nn::utils::vector_to_parameters(v + 1, p);
  EXPECT_EQ(p[0].select(0, 1).select(0, 1).item<float>(), 4);
  EXPECT_EQ(p[1].item<float>(), 10);
}

}  // namespace
}  // namespace tenon
