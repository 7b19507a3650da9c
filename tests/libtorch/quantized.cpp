// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantized tensors by their methods, which are those of libtorch.
#include <c10/core/QScheme.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

TEST(QuantizedMethods, OneScaleForAll) {
  const auto x = torch::tensor({-1.0f, 0.f, 0.26f, 3.f});
  const auto q = at::quantize_per_tensor(x, 0.5, 10, torch::kQUInt8);
  EXPECT_TRUE(q.is_quantized());
  EXPECT_FALSE(x.is_quantized());
  EXPECT_FALSE(torch::Tensor().is_quantized());
  EXPECT_EQ(q.qscheme(), at::kPerTensorAffine);
  EXPECT_EQ(toString(q.qscheme()), "per_tensor_affine");
  EXPECT_EQ(q.q_scale(), 0.5);
  EXPECT_EQ(q.q_zero_point(), 10);
  EXPECT_TRUE(torch::equal(q.int_repr(), torch::tensor({8, 10, 11, 16}, torch::kByte)));
  EXPECT_TRUE(torch::equal(q.dequantize(), torch::tensor({-1.0f, 0.f, 0.5f, 3.f})));
  EXPECT_THROW((void)q.q_per_channel_axis(), c10::TypeError);
  EXPECT_THROW((void)x.q_scale(), c10::TypeError);
}

TEST(QuantizedMethods, AScaleForEachChannel) {
  const auto x = torch::tensor({{1.f, 2.f}, {3.f, 4.f}});
  const auto scales = torch::tensor({0.5, 1.0}, torch::kDouble);
  const auto zeros = torch::tensor({0, 2}, torch::kLong);
  const auto q = torch::quantize_per_channel(x, scales, zeros, 0, c10::kQInt8);
  EXPECT_EQ(q.qscheme(), c10::QScheme::PER_CHANNEL_AFFINE);
  EXPECT_EQ(q.q_per_channel_axis(), 0);
  EXPECT_TRUE(torch::equal(q.q_per_channel_scales(), scales));
  EXPECT_TRUE(torch::equal(q.q_per_channel_zero_points(), zeros));
  EXPECT_TRUE(torch::equal(q.int_repr(), torch::tensor({{2, 4}, {5, 6}}, torch::kChar)));
  EXPECT_TRUE(torch::equal(q.dequantize(), x));
}

TEST(QuantizedMethods, ParametersAsTensorsAndListsOfTensors) {
  const auto x = torch::tensor({1.f, 2.f}), y = torch::tensor({4.f});
  const auto scales = torch::tensor({0.5, 2.0}), zeros = torch::tensor({0, 1}, torch::kLong);
  const auto one = torch::quantize_per_tensor(x, scales[1], zeros[1], torch::kQInt8);
  EXPECT_EQ(one.q_scale(), 2.0);
  EXPECT_EQ(one.q_zero_point(), 1);
  const std::vector<torch::Tensor> both{x, y};
  const auto list = torch::quantize_per_tensor(both, scales, zeros, torch::kQInt8);
  EXPECT_EQ(list.at(0).q_scale(), 0.5);
  EXPECT_EQ(list.at(1).q_zero_point(), 1);
  EXPECT_TRUE(torch::equal(torch::dequantize(list).at(1), y));
  EXPECT_THROW((void)torch::quantize_per_tensor(both, scales[0], zeros[0], torch::kQInt8),
               c10::ValueError);
}

}  // namespace
