// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit integers against double: every number equal, whatever the processor has.
#include <array>
#include <string>
#include <vector>

#include "tenon/core/dispatch.h"
#include "tenon/plugins/plugins.h"
#include "tenon/tenon.h"
#include "tests/support.h"

using namespace tenon;
using test::expect_same_bits_on;

namespace {

using Sizes = std::vector<int64_t>;

struct Case {
  const char* name;
  Sizes x, w, stride, pad, dilation;
  int64_t groups = 1;
};

const std::vector<Case> kCases = {
    {"three channels", {2, 3, 20, 18}, {16, 3, 7, 7}, {2, 2}, {3, 3}, {1, 1}},
    {"one tap", {2, 64, 9, 10}, {17, 64, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"strides", {2, 16, 15, 18}, {24, 16, 3, 4}, {2, 3}, {1, 2}, {1, 1}},
    {"gaps", {1, 16, 17, 16}, {16, 16, 3, 3}, {1, 2}, {2, 3}, {2, 3}},
    {"groups", {2, 36, 10, 9}, {48, 12, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 3},
    {"one channel each", {1, 40, 14, 13}, {40, 1, 5, 5}, {2, 1}, {2, 2}, {1, 1}, 40},
    {"three dimensions", {1, 16, 5, 6, 7}, {16, 16, 2, 3, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}},
    {"rows and no planes of padding",
     {2, 32, 8, 9, 9},
     {16, 32, 3, 3, 3},
     {1, 1, 1},
     {0, 1, 1},
     {1, 1, 1}},
    {"planes that become one, of rows that are left over",
     {1, 16, 6, 12, 6},
     {8, 16, 3, 5, 1},
     {2, 2, 2},
     {0, 0, 0},
     {2, 1, 2}},
    {"eight channels, and filters of all groups",
     {1, 32, 9, 9},
     {8, 8, 1, 1},
     {1, 1},
     {0, 0},
     {1, 1},
     4},
    {"a volume of one plane",
     {1, 32, 1, 9, 8},
     {16, 16, 1, 3, 3},
     {1, 2, 1},
     {0, 1, 1},
     {1, 1, 1},
     2},
    {"rows for several threads", {1, 64, 33, 31}, {64, 64, 3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"images for several threads", {5, 32, 28, 28}, {48, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"padding of more than a part", {1, 64, 9, 40}, {64, 64, 9, 3}, {1, 1}, {8, 1}, {1, 1}},
    {"long sums", {1, 1024, 5, 5}, {16, 1024, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"one pixel", {1, 64, 1, 1}, {100, 64, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"images of one pixel", {5, 64, 1, 1}, {40, 64, 1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {"a window of the whole image", {3, 32, 5, 6}, {24, 32, 5, 6}, {1, 1}, {0, 0}, {1, 1}},
    {"one pixel and its padding", {2, 24, 1, 1}, {24, 1, 3, 3}, {2, 3}, {1, 1}, {1, 1}, 24},
    {"a volume of one pixel", {2, 16, 1, 1, 1}, {32, 16, 1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
};

Tensor integers(const Sizes& sizes, int64_t low, ScalarType dtype) {
  return randint(low, low + 256, sizes, TensorOptions(kLong)).to(dtype);
}

struct Operands {
  Tensor x, w, bias, factor;
  int64_t zero;
  Operands(const Case& c, ScalarType dtype, bool each) {
    const bool sign = dtype == kChar;
    x = integers(c.x, sign ? -128 : 0, dtype);
    w = integers(c.w, -128, kChar);
    // Multiples of powers of two, of which every product with a sum is exact.
    bias = randint(-4000, 4000, {c.w[0]}).to(kFloat);
    factor = randint(1, 32, {each ? c.w[0] : 1}).to(kFloat) / (1 << 20);
    zero = sign ? -9 : 77;
  }
};

constexpr int64_t kZero = 5;  // of results

Tensor run(const Case& c, const Operands& o, bool with_bias, ScalarType dtype, bool relu) {
  const std::optional<Tensor> bias = with_bias ? std::optional(o.bias) : std::nullopt;
  return _int8_convolution(o.x, o.w, bias, o.factor, c.stride, c.pad, c.dilation, c.groups, o.zero,
                           dtype, dtype == kFloat ? 0 : kZero, relu);
}

// In double, where sums, bias and factors are exact; the product is rounded to float32 once.
Tensor expected(const Case& c, const Operands& o, bool with_bias, ScalarType dtype, bool relu) {
  Sizes along(c.x.size() - 1, 1);
  along[0] = -1;
  Tensor y = convolution(o.x.to(kDouble) - o.zero, o.w.to(kDouble), std::nullopt, c.stride, c.pad,
                         c.dilation, false, {0}, c.groups)
                 .to(kFloat);
  if (with_bias) y = (y.to(kDouble) + o.bias.to(kDouble).reshape(along)).to(kFloat);
  y = (y.to(kDouble) * o.factor.to(kDouble).reshape(along)).to(kFloat);
  if (dtype != kFloat) y = y.round();
  if (relu) y = y.clamp_min(0);
  if (dtype == kFloat) return y;
  const int64_t low = dtype == kChar ? -128 : 0;
  return (y + kZero).clamp(low, low + 255).to(dtype);
}

TEST(Int8Convolutions, AreEqualToDouble) {
  manual_seed(7);
  for (const Case& c : kCases) {
    for (const ScalarType dtype : {kByte, kChar}) {
      for (const bool each : {false, true}) {
        const Operands o(c, dtype, each);
        for (const ScalarType result : {dtype, kFloat}) {
          const Tensor y = run(c, o, each, result, !each),
                       wanted = expected(c, o, each, result, !each);
          EXPECT_TRUE(y.equal(wanted))
              << c.name << " of " << toString(dtype) << " to " << toString(result) << ": "
              << y.ne(wanted).sum().item<int64_t>() << " of " << y.numel() << " differ";
        }
      }
    }
  }
}

// Sums above 2^24, which a float32 would round.
TEST(Int8Convolutions, GiveSumsInInt32) {
  for (const Case& c : kCases) {
    for (const ScalarType dtype : {kByte, kChar}) {
      Operands o(c, dtype, false);
      o.x.select(0, 0).fill_(dtype == kByte ? 255 : 127);
      o.w.select(0, 0).fill_(127);
      const Tensor y = _int8_convolution(o.x, o.w, std::nullopt, o.factor, c.stride, c.pad,
                                         c.dilation, c.groups, o.zero, kInt, 0, false);
      const Tensor wanted = convolution(o.x.to(kDouble) - o.zero, o.w.to(kDouble), std::nullopt,
                                        c.stride, c.pad, c.dilation, false, {0}, c.groups);
      EXPECT_TRUE(y.equal(wanted.to(kInt))) << c.name << " of " << toString(dtype);
      EXPECT_EQ(y.scalar_type(), kInt);
    }
  }
}

TEST(Int8Convolutions, AreProductsOfMatrices) {
  manual_seed(4);
  for (const auto& [rows, k, columns] : std::vector<std::array<int64_t, 3>>{
           {1, 64, 48}, {7, 33, 5}, {64, 256, 100}, {3, 1, 1}, {2, 0, 4}, {0, 5, 4}}) {
    const Tensor a = integers({rows, k}, 0, kByte), b = integers({k, columns}, -128, kChar);
    EXPECT_TRUE(_int_mm(a, b).equal(a.to(kInt).mm(b.to(kInt)))) << rows << " " << k;
    const Tensor s = a.to(kInt).sub(100).to(kChar), across = b.t().contiguous().t();
    EXPECT_TRUE(_int_mm(s, across).equal(s.to(kInt).mm(b.to(kInt)))) << rows << " " << k;
  }
  test::expect_words(test::text_of([] {
                       (void)_int_mm(zeros({2, 3}).to(kChar), zeros({2, 3}).to(kChar));
                     }),
                     {"_int_mm", "[2, 3]"});
}

TEST(Int8Convolutions, ReadTensorsOfAnyStrides) {
  const Case c = {"", {2, 24, 9, 11}, {16, 12, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2};
  Operands o(c, kByte, true);
  const Tensor wanted = run(c, o, true, kByte, false);
  const Tensor x = o.x, w = o.w;
  o.x = x.contiguous(MemoryFormat::ChannelsLast);
  EXPECT_TRUE(run(c, o, true, kByte, false).equal(wanted));
  o.w = w.contiguous(MemoryFormat::ChannelsLast);
  EXPECT_TRUE(run(c, o, true, kByte, false).equal(wanted));
  o.x = x.repeat({1, 1, 1, 2}).slice(3, 0, 11);
  EXPECT_TRUE(run(c, o, true, kByte, false).equal(wanted));
  EXPECT_TRUE(wanted.is_contiguous(MemoryFormat::ChannelsLast));
  o.x = x.slice(1, 0, 1).expand({2, 24, 9, 11});
  EXPECT_TRUE(run(c, o, true, kByte, false).equal(expected(c, o, true, kByte, false)));
}

TEST(Int8Convolutions, HaveTheSameBitsOnSeveralThreads) {
  for (const Case& c : kCases) {
    const Operands o(c, kByte, true);
    expect_same_bits_on(
        3, [&] { return std::vector<Tensor>{run(c, o, true, kByte, false).contiguous()}; }, c.name);
  }
}

// Where the processor can, no case is left to the decomposition but the groups that oneDNN lacks.
TEST(Int8Convolutions, AreComputedByTheKernel) {
  (void)ones({1});  // opens the plugin
  std::string description;
  for (const plugins::Info& info : plugins::list())
    if (info.name == "cpu") description = info.description;
  if (!test::has(description, "8-bit integers by oneDNN"))
    GTEST_SKIP() << "no AVX512-VNNI, or AMX beside it: " << description;
  core::reset_fallback_counts();
  uint64_t calls = 0;
  for (const Case& c : kCases)
    if (c.groups != 3) (void)run(c, Operands(c, kByte, true), true, kByte, false);
  for (const core::FallbackCount& f : core::fallback_counts())
    if (f.op == "_int8_convolution") calls += f.calls;
  EXPECT_EQ(calls, 0U);
}

// A write to the weights is seen: they are kept in another layout.
TEST(Int8Convolutions, FollowTheirWeights) {
  const Case& c = kCases[3];
  const Operands o(c, kByte, true);
  for (int k = 0; k < 3; ++k) {
    EXPECT_TRUE(run(c, o, true, kByte, false).equal(expected(c, o, true, kByte, false))) << k;
    o.w.select(0, k).fill_(k - 1);
  }
}

TEST(Int8Convolutions, RefuseOtherDtypesAndZeroPoints) {
  const Case c = {"", {1, 2, 3, 3}, {2, 2, 1, 1}, {1, 1}, {0, 0}, {1, 1}};
  const Operands o(c, kByte, true);
  const auto text = [&](const Tensor& w, const Tensor& factor, ScalarType dtype, int64_t zero) {
    return test::text_of([&] {
      (void)_int8_convolution(o.x, w, std::nullopt, factor, c.stride, c.pad, c.dilation, 1, 0,
                              dtype, zero, false);
    });
  };
  test::expect_words(text(o.w.to(kFloat), o.factor, kByte, 0), {"weight", "int8", "float32"});
  test::expect_words(text(o.w, o.factor.to(kDouble), kByte, 0), {"factor", "float32", "float64"});
  test::expect_words(text(o.w, ones({3}), kByte, 0), {"factor", "[1] or [2]", "[3]"});
  test::expect_words(text(o.w, o.factor, kLong, 0), {"uint8 or int8", "int64"});
  test::expect_words(text(o.w, o.factor, kByte, 256), {"zero point 256", "uint8"});
}

TEST(Quantize, RoundsToEvenAndHoldsWithinTheRange) {
  const Tensor x = tensor({-1e30F, -3.F, 0.25F, 0.75F, 1.25F, 1e30F});
  EXPECT_TRUE(_quantize(x, 2, 3, kByte).equal(tensor({0, 0, 3, 5, 5, 255}).to(kByte)));
  EXPECT_TRUE(_quantize(x, 2, -3, kChar).equal(tensor({-128, -9, -3, -1, -1, 127}).to(kChar)));
  const Tensor q = arange(256).to(kByte);
  EXPECT_TRUE(_dequantize(q, 0.5, 7).equal((arange(256).to(kFloat) - 7) / 2));
  for (const Tensor& strided :
       {randn({5, 70}).t(), randn({4, 3, 37}).select(1, 1), randn({3, 1}).expand({3, 9})}) {
    EXPECT_TRUE(
        _quantize(strided, 30, 128, kByte).equal(_quantize(strided.contiguous(), 30, 128, kByte)));
    const Tensor bytes = strided.mul(30).to(kChar);
    EXPECT_TRUE(_dequantize(bytes, 0.5, 7).equal(_dequantize(bytes.contiguous(), 0.5, 7)));
  }
}

}  // namespace
