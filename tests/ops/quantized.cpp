// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantized tensors: values by torch, what operators keep, what is refused.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/quantized.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Integers = std::vector<int64_t>;

Tensor reals() { return ((arange(24, kFloat) - 12) / 8).view({2, 3, 4}); }
Tensor bytes() { return quantize_per_tensor(reals(), 0.1, 7, kQUInt8); }
Integers integers(const Tensor& q) {
  const Tensor flat = int_repr(q).to(kLong).reshape({-1});
  return Integers(flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel());
}

TEST(Quantized, RoundsToEvenWithinTheDtype) {
  const Tensor q = bytes();
  EXPECT_EQ(integers(q), (Integers{0, 0, 0, 0,  0,  0,  0,  1,  2,  3,  5,  6,
                                   7, 8, 9, 11, 12, 13, 15, 16, 17, 18, 19, 21}));
  EXPECT_TRUE(is_quantized(q));
  EXPECT_EQ(quantized_dtype(q), kQUInt8);
  EXPECT_EQ(int_repr(q).scalar_type(), kByte);
  EXPECT_EQ(q_scale(q), 0.1);
  EXPECT_EQ(q_zero_point(q), 7);
  EXPECT_TRUE(allclose(dequantize(q), (int_repr(q).to(kFloat) - 7) * 0.1));
  EXPECT_EQ(integers(quantize_per_tensor(reals()[0][0], 1e-6, -5, kQInt32)),
            (Integers{-1500005, -1375005, -1250005, -1125005}));
  EXPECT_EQ(integers(quantize_per_tensor(reals()[0] * 200, 0.1, -5, kQInt8)), Integers(12, -128));
}

TEST(Quantized, EachChannelHasItsScale) {
  const Tensor scales = tensor({0.1, 0.2, 0.3}), zeros = tensor({0, 1, -2});
  const Tensor q = quantize_per_channel(reals()[0], scales, zeros, 0, kQInt8);
  EXPECT_EQ(integers(q), (Integers{-15, -14, -12, -11, -4, -3, -3, -2, -4, -3, -3, -2}));
  EXPECT_NEAR(dequantize(q)[1][3].item<double>(), -0.6, 1e-6);
  EXPECT_TRUE(is_quantized_per_channel(q));
  EXPECT_EQ(q_per_channel_axis(q), 0);
  EXPECT_TRUE(q_per_channel_zero_points(q).equal(zeros.to(kLong)));
  EXPECT_THROW(q_scale(q), TypeError);
  EXPECT_THROW(q.transpose(0, 1), NotImplementedError);
  EXPECT_EQ(integers(q.clone()), integers(q));
}

TEST(Quantized, ScaleAndZeroPointOfTheExtremes) {
  const Tensor q = quantize_per_tensor_dynamic(reals(), kQUInt8, true);
  EXPECT_NEAR(q_scale(q), 0.022637795, 1e-8);
  EXPECT_EQ(q_zero_point(q), 66);
  EXPECT_EQ(integers(q)[23], 127);
  EXPECT_EQ(q_scale(quantize_per_tensor_dynamic(zeros({3}), kQInt8, false)), 0.1F);
}

TEST(Quantized, OperatorsKeepScaleAndZeroPoint) {
  const Tensor q = bytes();
  for (const Tensor& kept : {q.view({-1}), q.permute({2, 0, 1}).contiguous(), q.slice(2, 1, 4, 2),
                             q.clone(), q.flip({0}), relu(q), q.mean(IntArrayRef{2}),
                             std::get<0>(q.max(1)), q.index_select(1, tensor({2, 0})),
                             constant_pad_nd(q, {1, 1}), leaky_relu(q, 0.1), stack({q, q})}) {
    EXPECT_EQ(q_scale(kept), 0.1);
    EXPECT_EQ(q_zero_point(kept), 7);
  }
  EXPECT_EQ(integers(relu(q)), (Integers{7, 7, 7, 7,  7,  7,  7,  7,  7,  7,  7,  7,
                                         7, 8, 9, 11, 12, 13, 15, 16, 17, 18, 19, 21}));
  EXPECT_EQ(integers(max_pool2d(q.unsqueeze(0), {1, 2})),
            (Integers{0, 0, 0, 1, 3, 6, 8, 11, 13, 16, 18, 21}));
  EXPECT_EQ(integers(avg_pool2d(q.unsqueeze(0), {3, 4})), (Integers{1, 14}));
  EXPECT_EQ(integers(clamp(q, -0.5, 0.3)[0]), (Integers{2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 5, 6}));
  EXPECT_EQ(integers(constant_pad_nd(q, {1, 1})[0][0]), (Integers{7, 0, 0, 0, 0, 7}));
  EXPECT_EQ(integers(q.permute({2, 0, 1})[3]), (Integers{0, 1, 6, 11, 16, 21}));
}

// Means of 1.5 and 2.5, with an odd zero point: what is rounded to even depends on the layout.
TEST(Quantized, MeansInTheMiddleAreRoundedAsInTheirLayout) {
  const Integers with_zero{2, 2}, without{1, 3};
  const Tensor x = tensor({0, 1, 2, 3, 1, 2, 3, 4}, kByte);
  const auto quantized = [](const Tensor& t) {
    return _make_per_tensor_quantized_tensor(t, 0.1, 7);
  };
  const Tensor images = x.view({1, 2, 2, 2}), volumes = x.view({1, 2, 1, 2, 2});
  const Tensor q = quantized(images);
  const Tensor last = quantized(images.contiguous(MemoryFormat::ChannelsLast));
  EXPECT_EQ(integers(avg_pool2d(q, {2, 2})), with_zero);
  EXPECT_EQ(integers(adaptive_avg_pool2d(q, {1, 1})), with_zero);
  EXPECT_EQ(integers(avg_pool2d(q[0], {2, 2})), with_zero);
  EXPECT_EQ(integers(avg_pool2d(last, {2, 2})), without);
  EXPECT_EQ(integers(adaptive_avg_pool2d(last, {1, 1})), without);
  EXPECT_EQ(integers(avg_pool3d(quantized(volumes), {1, 2, 2})), without);
  EXPECT_EQ(integers(adaptive_avg_pool3d(quantized(volumes), {1, 1, 1})), with_zero);
  EXPECT_EQ(integers(adaptive_avg_pool3d(
                quantized(volumes.contiguous(MemoryFormat::ChannelsLast3d)), {1, 1, 1})),
            without);
}

TEST(Quantized, LeakyReluIsRoundedAsInTorch) {
  const Tensor q = _make_per_tensor_quantized_tensor(arange(44, kByte), 0.031, 40);
  const Tensor y = leaky_relu(q, 0.1);
  Integers expected(6,
                    36);  // integers 15 and 35 are -0.775 and -0.155, a tenth of it in the middle
  for (const int64_t each : {37, 38, 39}) expected.insert(expected.end(), 10, each);
  expected.insert(expected.end(), {40, 40, 40, 40, 40, 41, 42, 43});
  EXPECT_EQ(integers(y), expected);
  EXPECT_EQ(q_scale(y), 0.031);
  EXPECT_EQ(q_zero_point(y), 40);
}

TEST(Quantized, SigmoidAndTanhHaveScalesOfTheirOwn) {
  const Tensor s = sigmoid(bytes()), t = tanh(bytes());
  EXPECT_EQ(q_scale(s), 1. / 256);
  EXPECT_EQ(q_zero_point(s), 0);
  EXPECT_EQ(integers(s[0]), (Integers{85, 85, 85, 85, 85, 85, 85, 91, 97, 103, 115, 122}));
  EXPECT_EQ(q_scale(t), 1. / 128);
  EXPECT_EQ(q_zero_point(t), 128);
  EXPECT_EQ(integers(t[0]), (Integers{51, 51, 51, 51, 51, 51, 51, 59, 69, 79, 103, 115}));
}

TEST(Quantized, JoinedTensorsGetTheScaleOfTheFirst) {
  const Tensor other = quantize_per_tensor(reals(), 0.05, 3, kQUInt8);
  const Tensor joined = cat({bytes(), other}, 2);
  EXPECT_EQ(q_scale(joined), 0.1);
  EXPECT_EQ(integers(joined[0]),
            (Integers{0, 0, 0, 0, 5, 5, 5, 5, 0, 0, 0, 1, 5, 5, 5, 5, 2, 3, 5, 6, 5, 5, 5, 6}));
  EXPECT_THROW(cat({bytes(), reals()}), TypeError);
}

TEST(Quantized, WritesReachTheIntegers) {
  Tensor q = bytes();
  q.relu_();
  EXPECT_EQ(integers(q[0][0]), Integers(4, 7));
  q.copy_(ones({4}));
  EXPECT_EQ(integers(q), Integers(24, 17));
  q.select(0, 1).copy_(zeros({3, 4}));
  EXPECT_EQ(integers(q[1]), Integers(12, 7));
  EXPECT_EQ(q[1][0][0].item<float>(), 0.F);
  EXPECT_FALSE(q[1][0][0].is_nonzero());
  EXPECT_EQ(integers(q.clone().fill_(0.3)), Integers(24, 10));
  EXPECT_EQ(integers(q[0]), Integers(12, 17));
}

TEST(Quantized, ComparesTheRealNumbers) {
  EXPECT_TRUE((bytes() > 0.5).equal(dequantize(bytes()) > 0.5));
}

TEST(Quantized, WhatTorchHasNoKernelForIsRefused) {
  const Tensor q = bytes();
  try {
    (void)(q + q);
    ADD_FAILURE() << "add gave integers";
  } catch (const NotImplementedError& e) {
    EXPECT_NE(std::string(e.what()).find("add"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("dequantize() them"), std::string::npos);
  }
  EXPECT_THROW((void)q.data_ptr(), TypeError);
  EXPECT_THROW((void)q.resize_({6}), TypeError);
  EXPECT_THROW((void)q.to(kDouble), TypeError);
  EXPECT_THROW(zeros({2, 3, 4}).set_data(q), TypeError);
  Tensor plain = zeros({2, 3, 4});
  EXPECT_THROW(plain.copy_(q), TypeError);
  EXPECT_TRUE(plain.equal(zeros({2, 3, 4})));
  EXPECT_EQ(integers(q), integers(bytes()));
}

TEST(Quantized, ArgumentsAreChecked) {
  const Tensor x = reals();
  EXPECT_THROW(quantize_per_tensor(x, 0, 0, kQInt8), ValueError);
  EXPECT_THROW(quantize_per_tensor(x, 0.1, 256, kQUInt8), ValueError);
  EXPECT_THROW(quantize_per_tensor(x, 0.1, 0, kFloat), TypeError);
  EXPECT_THROW(quantize_per_tensor(x.to(kDouble), 0.1, 0, kQInt8), TypeError);
  EXPECT_THROW(quantize_per_channel(x, ones({2}), zeros({2}), 1, kQInt8), ValueError);
  EXPECT_THROW(quantize_per_channel(x, ones({3}), zeros({3}), 3, kQInt8), IndexError);
  EXPECT_THROW(_make_per_tensor_quantized_tensor(x, 0.1, 0), TypeError);
  EXPECT_THROW(int_repr(x), TypeError);
  EXPECT_THROW(q_zero_point(x), TypeError);
  EXPECT_TRUE(dequantize(x).equal(x));
}

TEST(Quantized, IsPrintedByItsRealNumbers) {
  std::ostringstream text;
  text << quantize_per_tensor(tensor({1., -0.5}), 0.5, 3, kQUInt8);
  EXPECT_NE(text.str().find("-0.5"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("quint8"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("scale=0.5, zero_point=3"), std::string::npos) << text.str();
}

}  // namespace
}  // namespace tenon
