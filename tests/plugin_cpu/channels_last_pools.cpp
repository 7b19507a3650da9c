// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pools of images with channels innermost against the same images in planes: values, places and
// layout.
#include <limits>
#include <string>
#include <vector>

#include "tenon/tenon.h"
#include "tests/support.h"

using namespace tenon;
using test::expect_same_bits_on;

namespace {

using Sizes = std::vector<int64_t>;

struct Case {
  const char* name;
  Sizes x, kernel, stride, pad, dilation;
  bool ceil = false;
};

const std::vector<Case> kCases = {
    {"padding", {2, 9, 13, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"more channels than at once", {1, 300, 7, 6}, {2, 3}, {1, 2}, {1, 0}, {1, 1}},
    {"gaps", {2, 16, 15, 18}, {3, 2}, {2, 1}, {1, 1}, {2, 3}},
    {"partial windows", {3, 24, 9, 10}, {2, 4}, {2, 3}, {0, 2}, {1, 1}, true},
    {"windows in the padding", {1, 8, 2, 2}, {2, 2}, {1, 1}, {3, 3}, {5, 5}},
    {"a window of many taps", {1, 10, 17, 16}, {15, 16}, {1, 1}, {0, 0}, {1, 1}},
    {"more taps than there are numbers of bytes", {1, 8, 17, 18}, {16, 17}, {1, 1}, {0, 0}, {1, 1}},
    {"a batch for several threads", {8, 64, 28, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"volumes", {2, 12, 5, 6, 7}, {2, 3, 2}, {1, 2, 2}, {1, 1, 0}, {1, 1, 2}},
};

constexpr ScalarType kAll[] = {kByte, kChar,     kShort, kInt,   kLong,
                               kHalf, kBFloat16, kFloat, kDouble};

Tensor last(const Tensor& x) {
  return x.contiguous(x.dim() == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast);
}

// Equal values repeat, so that the first of them shows.
Tensor numbers(const Sizes& sizes, ScalarType dtype) {
  const int64_t low = dtype == kByte ? 0 : -60;
  return last(randint(low, low + 120, sizes).to(dtype));
}

std::vector<Tensor> largest(const Case& c, const Tensor& x) {
  const auto pool = c.x.size() == 5 ? max_pool3d_with_indices : max_pool2d_with_indices;
  const auto [y, at] = pool(x, c.kernel, c.stride, c.pad, c.dilation, c.ceil);
  return {y, at};
}

TEST(ChannelsLastPools, TakeTheLargestOfPlanes) {
  manual_seed(1);
  for (const Case& c : kCases) {
    for (const ScalarType dtype : kAll) {
      const Tensor x = numbers(c.x, dtype);
      const auto kept = largest(c, x), wanted = largest(c, x.contiguous());
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(kept[i].equal(wanted[i])) << c.name << " of " << toString(dtype) << ", " << i;
        EXPECT_EQ(kept[i].strides(), last(wanted[i]).strides()) << c.name;
      }
    }
  }
}

// Of planes, too: by the kernels that compute no indices.
TEST(ChannelsLastPools, TakeTheSameWithoutIndices) {
  manual_seed(5);
  for (const Case& c : kCases) {
    if (c.x.size() == 5) continue;
    for (const ScalarType dtype : kAll) {
      Tensor x = numbers(c.x, dtype);
      for (const bool nans : {false, true}) {
        if (nans && !x.is_floating_point()) continue;
        if (nans) x.masked_fill_(rand(c.x).lt(0.1), std::numeric_limits<double>::quiet_NaN());
        const auto real = [](const Tensor& t) { return t.to(kDouble).nan_to_num(-99); };
        const Tensor wanted = largest(c, x.contiguous())[0];
        for (const Tensor& of : {x, x.contiguous()}) {
          const Tensor y = _max_pool2d(of, c.kernel, c.stride, c.pad, c.dilation, c.ceil);
          EXPECT_TRUE(real(y).equal(real(wanted))) << c.name << " of " << toString(dtype);
        }
      }
    }
  }
}

TEST(ChannelsLastPools, TakeTheLastNanAsPlanesDo) {
  const Case& c = kCases[0];
  for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    const Tensor x = numbers(c.x, dtype);
    x.masked_fill_(rand(c.x).lt(0.3), std::numeric_limits<double>::quiet_NaN());
    const auto kept = largest(c, x), wanted = largest(c, x.contiguous());
    EXPECT_TRUE(kept[0].to(kDouble).nan_to_num(-99).equal(wanted[0].to(kDouble).nan_to_num(-99)));
    EXPECT_TRUE(kept[1].equal(wanted[1])) << toString(dtype);
  }
}

Tensor mean_of_windows(const Case& c, const Tensor& x, bool with_pad,
                       std::optional<int64_t> divisor) {
  return c.x.size() == 5 ? avg_pool3d(x, c.kernel, c.stride, c.pad, c.ceil, with_pad, divisor)
                         : avg_pool2d(x, c.kernel, c.stride, c.pad, c.ceil, with_pad, divisor);
}

void expect_mean(const Tensor& kept, const Tensor& wanted, ScalarType dtype, const char* name) {
  const double within = dtype == kDouble ? 1e-13 : dtype == kFloat ? 1e-5 : 1e-2;
  EXPECT_TRUE(kept.is_floating_point() ? allclose(kept, wanted, within, within)
                                       : kept.equal(wanted))
      << name << " of " << toString(dtype);
  EXPECT_EQ(kept.stride(1), 1) << name;
}

TEST(ChannelsLastPools, TakeTheMeansOfPlanes) {
  manual_seed(2);
  for (const Case& c : kCases) {
    if (c.dilation[0] != 1 || c.pad[0] > c.kernel[0] / 2) continue;
    for (const ScalarType dtype : kAll) {
      const Tensor x = numbers(c.x, dtype);
      for (const bool with_pad : {false, true})
        expect_mean(mean_of_windows(c, x, with_pad, std::nullopt),
                    mean_of_windows(c, x.contiguous(), with_pad, std::nullopt), dtype, c.name);
      expect_mean(mean_of_windows(c, x, true, -3), mean_of_windows(c, x.contiguous(), true, -3),
                  dtype, c.name);
    }
  }
}

TEST(ChannelsLastPools, TakeTheMeansOfCells) {
  manual_seed(3);
  for (const ScalarType dtype : {kHalf, kBFloat16, kFloat, kDouble}) {
    for (const Sizes& cells : {Sizes{1, 1}, {3, 4}, {20, 9}}) {
      const Tensor x = numbers({2, 24, 17, 19}, dtype);
      expect_mean(_adaptive_avg_pool2d(x, cells), _adaptive_avg_pool2d(x.contiguous(), cells),
                  dtype, "cells");
    }
    const Tensor x = numbers({2, 12, 4, 5, 6}, dtype);
    EXPECT_TRUE(allclose(_adaptive_avg_pool3d(x, {1, 1, 1}),
                         _adaptive_avg_pool3d(x.contiguous(), {1, 1, 1}), 1e-2, 1e-2));
  }
}

// Sums of a large plane would lose the small numbers if they were one after the other.
TEST(ChannelsLastPools, SumLargePlanesByLines) {
  const Tensor x = last(rand({1, 8, 1024, 1024}).add_(1));
  const Tensor mean = _adaptive_avg_pool2d(x, {1, 1}).to(kDouble);
  EXPECT_LT((mean / x.to(kDouble).mean({2, 3}, true) - 1).abs().max().item<double>(), 3e-6);
}

TEST(ChannelsLastPools, HaveTheSameBitsOnSeveralThreads) {
  for (const Case& c : kCases) {
    const Tensor x = last(randn(c.x));
    expect_same_bits_on(
        3, [&] { return largest(c, x); }, c.name);
    if (c.dilation[0] != 1 || c.pad[0] > c.kernel[0] / 2) continue;
    expect_same_bits_on(
        3, [&] { return std::vector<Tensor>{mean_of_windows(c, x, false, std::nullopt)}; }, c.name);
  }
}

}  // namespace
