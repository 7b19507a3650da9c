// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Channels last in memory is kept from layer to layer, forward and backward, with the values of the
// row-major form.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr auto kLast = MemoryFormat::ChannelsLast;

struct Net {
  nn::Conv2d conv{nn::Conv2dOptions(3, 4, 3).padding(1)};
  nn::BatchNorm2d norm{4};
  Tensor operator()(const Tensor& x) { return norm(conv(x)).relu(); }
};

// Strides of dimensions of size 1 count, as torch has it.
TEST(MemoryFormats, SuggestedByTheStrides) {
  const auto laid = [](IntArrayRef sizes, IntArrayRef strides) {
    return empty_strided(sizes, strides).suggest_memory_format();
  };
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{4, 4, 1, 1}, {4, 1, 4, 4}, {4, 1, 4, 1}, {1, 4, 1, 4}, {1, 4, 4, 1}}) {
    SCOPED_TRACE(IntArrayRef(sizes));
    EXPECT_EQ(zeros(sizes).suggest_memory_format(), MemoryFormat::Contiguous);
    EXPECT_EQ(tenon::empty(sizes, {}, kLast).suggest_memory_format(), kLast);
    EXPECT_EQ(zeros({2}).resize_(sizes, kLast).suggest_memory_format(), kLast);
  }
  EXPECT_EQ(zeros({2}).resize_({2, 3, 4, 5}, kLast).strides().vec(),
            (std::vector<int64_t>{60, 1, 15, 3}));
  EXPECT_THROW(zeros({2}).resize_({2, 3}, kLast), ValueError);
  EXPECT_EQ(laid({4, 1, 1, 1}, {1, 1, 1, 1}), MemoryFormat::Contiguous);
  EXPECT_EQ(laid({2, 3, 2, 2}, {48, 1, 24, 6}), kLast);  // every second column
  EXPECT_EQ(laid({2, 4, 4, 3}, {48, 12, 3, 1}), MemoryFormat::Contiguous);
}

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

// A batch of one is channels-last by its own stride, which unsqueeze(0) makes small. The strides
// are torch's.
TEST(MemoryFormats, BatchesOfOne) {
  using Sizes = std::vector<int64_t>;
  const Tensor picture = rand({5, 6, 3}).permute({2, 0, 1}), one = picture.unsqueeze(0),
               last = rand({1, 3, 5, 6}).contiguous(kLast);
  nn::Conv2d conv(nn::Conv2dOptions(3, 4, 3));
  const std::pair<Tensor, Sizes> all[] = {
      {one, {3, 1, 18, 3}},
      {last, {90, 1, 18, 3}},
      {cat({one, one}), {90, 30, 6, 1}},
      {cat({last, last}), {90, 1, 18, 3}},
      {stack({picture, picture}), {90, 30, 6, 1}},
      {conv(one), {48, 12, 4, 1}},
      {conv(last), {48, 1, 16, 4}},
      {max_pool2d(one, 2), {18, 6, 3, 1}},
      {max_pool2d(last, 2), {18, 1, 9, 3}},
      {avg_pool2d(one, 2), {18, 6, 3, 1}},
      {avg_pool2d(last, 2), {18, 1, 9, 3}},
  };
  for (std::size_t k = 0; k < std::size(all); ++k)
    EXPECT_EQ(all[k].first.strides().vec(), all[k].second) << k;
  EXPECT_TRUE(one.is_contiguous(kLast));
  EXPECT_EQ(one.suggest_memory_format(), MemoryFormat::Contiguous);
  EXPECT_EQ(last.suggest_memory_format(), kLast);
}

// Results of tensors with gaps have none, and the order of their dimensions in memory, as in torch,
// whose strides these are.
TEST(MemoryFormats, PartsKeepTheirOrder) {
  using Sizes = std::vector<int64_t>;
  const Tensor x = randn({2, 4, 3, 5}).contiguous(kLast), z = randn({3, 4, 5});
  const Tensor part = x.slice(1, 0, 2),
               other = randn({2, 4, 3, 5}).contiguous(kLast).slice(1, 0, 2);
  const std::pair<Tensor, Sizes> all[] = {
      {part.relu(), {30, 1, 10, 2}},
      {part + 1, {30, 1, 10, 2}},
      {part + other, {30, 1, 10, 2}},
      {part + randn({1, 2, 1, 1}), {30, 1, 10, 2}},
      {part.clone(), {30, 1, 10, 2}},
      {empty_like(part), {30, 1, 10, 2}},
      {part.to(kDouble), {30, 1, 10, 2}},
      {part.gt(0), {30, 1, 10, 2}},
      {part.contiguous(), {30, 15, 5, 1}},
      {x.slice(2, 0, 2).exp(), {40, 1, 20, 4}},
      {x.slice(3, 0, 5, 2).exp(), {36, 1, 12, 4}},
      {x.contiguous().slice(1, 0, 2).exp(), {30, 15, 5, 1}},
      {z.transpose(0, 2).slice(0, 0, 3).exp(), {1, 3, 12}},
      {z.transpose(1, 2).slice(2, 1, 3) * 2, {10, 1, 5}},
      {randn({3, 1, 5}).expand({3, 4, 5}).exp(), {20, 5, 1}},
      {randn({1, 5}).t().expand({5, 3}).exp(), {3, 1}},
      {z.permute({2, 0, 1}).slice(1, 0, 2).unsqueeze(1).expand({5, 3, 2, 4}).exp(), {1, 20, 60, 5}},
      {randn({4, 4}).diagonal().exp(), {1}},
      {randn({2, 3, 4, 5}).permute({3, 1, 0, 2}).slice(0, 0, 3).sin(), {1, 12, 36, 3}}};
  for (const auto& [t, strides] : all) EXPECT_EQ(t.strides(), IntArrayRef(strides)) << t.sizes();
  EXPECT_TRUE(part.exp().equal(part.contiguous().exp()));
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

// Layers between: what torch returns channels last for such an input.
TEST(MemoryFormats, IsKeptByOtherLayersAsTorchDoes) {
  namespace F = nn::functional;
  manual_seed(0);
  const Tensor x = randn({2, 8, 6, 6}), last = x.contiguous(kLast);
  const Tensor scale = randn({8, 1, 1});
  const auto sized = [](auto mode) {
    return F::InterpolateFuncOptions().size(std::vector<int64_t>{9, 7}).mode(mode);
  };
  const std::pair<const char*, std::function<Tensor(const Tensor&)>> layers[] = {
      {"nearest", [&](const Tensor& t) { return F::interpolate(t, sized(kNearest)); }},
      {"bilinear", [&](const Tensor& t) { return F::interpolate(t, sized(kBilinear)); }},
      {"bicubic", [&](const Tensor& t) { return F::interpolate(t, sized(kBicubic)); }},
      {"constant_pad",
       [](const Tensor& t) {
         return constant_pad_nd(t, {1, 2, 0, 1}, 3);
       }},
      {"crop",
       [](const Tensor& t) {
         return constant_pad_nd(t, {-1, 0, 0, 0});
       }},
      {"reflection_pad",
       [](const Tensor& t) {
         return reflection_pad2d(t, {1, 2, 0, 1});
       }},
      {"replication_pad",
       [](const Tensor& t) {
         return replication_pad2d(t, {1, 2, 0, 1});
       }},
      {"cat",
       [](const Tensor& t) {
         return cat({t, t * 2}, 1);
       }},
      {"cat of a batch",
       [](const Tensor& t) {
         return cat({t, t * 2}, 0);
       }},
      {"pixel_shuffle", [](const Tensor& t) { return pixel_shuffle(t, 2); }},
      {"pixel_unshuffle", [](const Tensor& t) { return pixel_unshuffle(t, 2); }},
      {"channel_shuffle", [](const Tensor& t) { return channel_shuffle(t, 2); }},
      {"group_norm", [](const Tensor& t) { return group_norm(t, 2); }},
      {"adaptive_avg_pool",
       [](const Tensor& t) {
         return adaptive_avg_pool2d(t, {3, 4});
       }},
      {"adaptive_max_pool",
       [](const Tensor& t) {
         return std::get<0>(adaptive_max_pool2d(t, {3, 4}));
       }},
      {"flip",
       [](const Tensor& t) {
         return t.flip({1, 3});
       }},
      {"a scale for each channel", [&](const Tensor& t) { return t * scale; }},
      {"a scale before", [&](const Tensor& t) { return scale - t; }},
      {"dropout",
       [](const Tensor& t) {
         manual_seed(3);
         return dropout(t, 0.5, true);
       }},
  };
  for (const auto& [name, layer] : layers) {
    const Tensor leaf = last.clone().requires_grad_(), plain_leaf = x.clone().requires_grad_();
    const Tensor kept = layer(leaf), plain = layer(plain_leaf);
    EXPECT_TRUE(kept.is_contiguous(kLast) && !kept.is_contiguous()) << name << kept.strides();
    EXPECT_TRUE(plain.is_contiguous()) << name;
    EXPECT_TRUE(allclose(kept, plain, 1e-5, 1e-5)) << name;
    const Tensor weights = randn(plain.sizes());
    (kept * weights).sum().backward();
    (plain * weights).sum().backward();
    EXPECT_TRUE(allclose(leaf.grad(), plain_leaf.grad(), 1e-5, 1e-5)) << name;
  }
  EXPECT_TRUE(cat({last, x}, 1).is_contiguous()) << "of two formats";
}

// The result's strides are those asked for, also of the gradient alone.
TEST(MemoryFormats, GradientOfBatchNormalizationIsWrittenByItsStrides) {
  manual_seed(0);
  const Tensor x = randn({2, 3, 4, 5}, kDouble), g = randn({2, 3, 4, 5}, kDouble);
  const Tensor w = rand({3}, kDouble), mean = x.mean({0, 2, 3}), rstd = rand({3}, kDouble) + 1;
  const auto gradient = [&](const Tensor& grad, const Tensor& input) {
    return std::get<0>(native_batch_norm_backward(grad, input, w, {}, {}, mean, rstd, true, 1e-5,
                                                  {true, false, false}));
  };
  const Tensor plain = gradient(g, x);
  for (const Tensor& grad : {g, g.contiguous(kLast)}) {
    const Tensor kept = gradient(grad, x.contiguous(kLast));
    EXPECT_TRUE(kept.is_contiguous(kLast));
    EXPECT_TRUE(allclose(kept, plain));
  }
  const Tensor one = ones({1}, kDouble).expand({2, 3, 4, 5});
  EXPECT_TRUE(allclose(gradient(one, x.contiguous(kLast)), gradient(one, x)));
}

TEST(MemoryFormats, Volumes) {
  const auto format = MemoryFormat::ChannelsLast3d;
  const Tensor x = randn({2, 3, 4, 5, 6}), w = randn({4, 3, 3, 3, 3});
  const Tensor y = conv3d(x.contiguous(format), w);
  EXPECT_TRUE(y.is_contiguous(format));
  EXPECT_TRUE(allclose(y, conv3d(x, w), 1e-4, 1e-4));
}

TEST(MemoryFormats, OfOptions) {
  const TensorOptions options = TensorOptions().memory_format(kLast);
  EXPECT_TRUE(empty({2, 3, 4, 5}, options).is_contiguous(kLast));
  EXPECT_TRUE(empty({2, 3, 4, 5}, options, MemoryFormat::Contiguous).is_contiguous());
  const Tensor x = ones({2, 3, 4, 5});
  EXPECT_TRUE(empty_like(x, options).is_contiguous(kLast));
  EXPECT_TRUE(rand_like(x, options).is_contiguous(kLast));
  EXPECT_TRUE(x.new_empty({2, 3, 4, 5}, options).is_contiguous(kLast));
}

// A plane that lies in both ways stays row-major.
TEST(MemoryFormats, OneChannelIsRowMajor) {
  const Tensor y = conv2d(randn({1, 1, 5, 5}), randn({2, 1, 3, 3}));
  EXPECT_TRUE(y.is_contiguous());
}

}  // namespace
}  // namespace tenon
