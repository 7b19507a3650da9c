// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Channels last in memory is kept from layer to layer, forward and backward, with the values of the
// row-major form.
#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr auto kLast = MemoryFormat::ChannelsLast;

struct Net {
  nn::Conv2d conv{nn::Conv2dOptions(3, 4, 3).padding(1)};
  nn::BatchNorm2d norm{4};
  Tensor operator()(const Tensor& x) { return norm(conv(x)).relu(); }
};

TEST(MemoryFormats, ConvolutionNormalizationAndPooling) {
  manual_seed(0);
  Net net;
  const Tensor x = randn({2, 3, 8, 6}), last = x.contiguous(kLast);
  for (const bool training : {true, false}) {
    net.norm->train(training);
    const Tensor plain = net(x), kept = net(last);
    EXPECT_TRUE(plain.is_contiguous());
    EXPECT_TRUE(kept.is_contiguous(kLast)) << kept.strides();
    EXPECT_TRUE(allclose(kept, plain, 1e-5, 1e-5));
    const auto pools = {max_pool2d(kept, 2), avg_pool2d(kept, 2)};
    const auto expected = {max_pool2d(plain, 2), avg_pool2d(plain, 2)};
    for (std::size_t k = 0; k < pools.size(); ++k) {
      EXPECT_TRUE(pools.begin()[k].is_contiguous(kLast)) << k;
      EXPECT_TRUE(allclose(pools.begin()[k], expected.begin()[k], 1e-5, 1e-5)) << k;
    }
  }
}

TEST(MemoryFormats, AWeightDecidesToo) {
  const Tensor x = randn({1, 3, 5, 5}), w = randn({2, 3, 3, 3});
  const Tensor y = conv2d(x, w.contiguous(kLast));
  EXPECT_TRUE(y.is_contiguous(kLast));
  EXPECT_TRUE(allclose(y, conv2d(x, w), 1e-5, 1e-5));
}

TEST(MemoryFormats, GradientsKeepIt) {
  manual_seed(0);
  Net net;
  const Tensor x = randn({2, 3, 8, 6}), last = x.contiguous(kLast).requires_grad_();
  const Tensor plain = x.clone().requires_grad_();
  const Tensor weights = randn({2, 4, 8, 6});
  (net(plain) * weights).sum().backward();
  const Tensor of_weight = net.conv->weight.grad().clone();
  net.conv->zero_grad();
  (net(last) * weights).sum().backward();
  EXPECT_TRUE(last.grad().is_contiguous(kLast)) << last.grad().strides();
  EXPECT_TRUE(allclose(last.grad(), plain.grad(), 1e-4, 1e-5));
  EXPECT_TRUE(allclose(net.conv->weight.grad(), of_weight, 1e-4, 1e-4));
}

TEST(MemoryFormats, Volumes) {
  const auto format = MemoryFormat::ChannelsLast3d;
  const Tensor x = randn({2, 3, 4, 5, 6}), w = randn({4, 3, 3, 3, 3});
  const Tensor y = conv3d(x.contiguous(format), w);
  EXPECT_TRUE(y.is_contiguous(format));
  EXPECT_TRUE(allclose(y, conv3d(x, w), 1e-4, 1e-4));
}

// A plane that lies in both ways stays row-major.
TEST(MemoryFormats, OneChannelIsRowMajor) {
  const Tensor y = conv2d(randn({1, 1, 5, 5}), randn({2, 1, 3, 3}));
  EXPECT_TRUE(y.is_contiguous());
}

}  // namespace
}  // namespace tenon
