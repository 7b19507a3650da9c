// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums, products and tables of 8-bit integers against double: scales are powers of two, so that
// nothing but the last step rounds.
#include <array>
#include <vector>

#include "tenon/core/dispatch.h"
#include "tenon/tenon.h"
#include "tests/support.h"

using namespace tenon;

namespace {

using Sizes = std::vector<int64_t>;

int64_t lowest(ScalarType t) { return t == kChar ? -128 : 0; }
Tensor integers(const Sizes& sizes, ScalarType t) {
  return randint(lowest(t), lowest(t) + 256, sizes, TensorOptions(kLong)).to(t);
}

struct Numbers {
  double scale;
  int64_t zero;
};
constexpr Numbers kSelf{0.25, 17}, kOther{0.5, 99};
constexpr double kFactor = 0.375;
constexpr int64_t kZero = 5;

using Operator = Tensor (*)(const Tensor&, const Tensor&, double, int64_t, double, int64_t, double,
                            int64_t, ScalarType, bool);

Tensor run(Operator op, const Tensor& a, const Tensor& b, ScalarType dtype, bool relu) {
  return op(a, b, kSelf.scale, kSelf.zero, kOther.scale, kOther.zero, kFactor, kZero, dtype, relu);
}
Tensor expected(bool product, const Tensor& a, const Tensor& b, ScalarType dtype, bool relu) {
  const Tensor x = (a.to(kDouble) - kSelf.zero) * kSelf.scale,
               z = (b.to(kDouble) - kOther.zero) * kOther.scale, y = product ? x * z : x + z;
  const Tensor kept = relu ? y.clamp_min(0) : y;
  return ((kept * kFactor).round() + kZero).clamp(lowest(dtype), lowest(dtype) + 255).to(dtype);
}

// Broadcasting, and other strides than those of the result.
TEST(QuantizedPointwise, IsEqualToDouble) {
  manual_seed(1);
  const std::vector<std::array<Sizes, 2>> shapes{{Sizes{2, 3, 5, 7}, Sizes{2, 3, 5, 7}},
                                                 {Sizes{2, 33, 5, 7}, Sizes{2, 33, 1, 1}},
                                                 {Sizes{4, 1}, Sizes{1, 67}},
                                                 {Sizes{131}, Sizes{}},
                                                 {Sizes{}, Sizes{131}},
                                                 {Sizes{0, 3}, Sizes{3}},
                                                 {Sizes{300, 257}, Sizes{300, 257}}};
  for (const auto& [left, right] : shapes) {
    for (const auto& [t, u] : {std::pair{kByte, kByte}, {kChar, kChar}, {kByte, kChar}}) {
      const Tensor a = integers(left, t), b = integers(right, u);
      for (const bool product : {false, true}) {
        const Operator op = product ? _quantized_mul : _quantized_add;
        for (const bool relu : {false, true}) {
          const ScalarType result = relu ? kChar : kByte;
          const Tensor wanted = expected(product, a, b, result, relu);
          EXPECT_TRUE(run(op, a, b, result, relu).equal(wanted)) << a.sizes() << b.sizes();
          if (a.dim() != 4) continue;
          const Tensor across = a.contiguous(MemoryFormat::ChannelsLast);
          const Tensor y = run(op, across, b, result, relu);
          EXPECT_TRUE(y.equal(wanted)) << a.sizes() << b.sizes();
          EXPECT_TRUE(run(op, a.transpose(2, 3), b.transpose(2, 3), result, relu)
                          .equal(wanted.transpose(2, 3)));
        }
      }
    }
  }
}

TEST(QuantizedPointwise, ReadsTables) {
  manual_seed(2);
  for (const ScalarType t : {kByte, kChar}) {
    for (const ScalarType u : {kByte, kChar}) {
      const Tensor table = integers({256}, u);
      for (const Sizes& sizes : {Sizes{2, 3, 5, 7}, Sizes{}, Sizes{0, 4}, Sizes{300, 257}}) {
        const Tensor x = integers(sizes, t);
        const Tensor wanted =
            table.index_select(0, x.to(kLong).sub(lowest(t)).flatten()).reshape(sizes);
        EXPECT_TRUE(_byte_table(x, table).equal(wanted)) << x.sizes();
        if (x.dim() == 4) {
          EXPECT_TRUE(_byte_table(x.transpose(1, 3), table).equal(wanted.transpose(1, 3)));
        }
      }
      const Tensor x = integers({40}, t), apart = table.repeat_interleave(2).slice(0, 0, 512, 2);
      EXPECT_TRUE(_byte_table(x, apart).equal(_byte_table(x, table)));
    }
  }
}

TEST(QuantizedPointwise, RefusesOtherDtypesAndZeroPoints) {
  const Tensor a = integers({3}, kByte), f = ones({3});
  const auto text = [&](const Tensor& x, const Tensor& y, int64_t zero, ScalarType dtype) {
    return test::text_of([&] { (void)_quantized_add(x, y, 1, zero, 1, 0, 1, 0, dtype, false); });
  };
  test::expect_words(text(f, a, 0, kByte), {"_quantized_add", "float32"});
  test::expect_words(text(a, f, 0, kByte), {"_quantized_add", "float32"});
  test::expect_words(text(a, a, 256, kByte), {"_quantized_add", "256", "uint8"});
  test::expect_words(text(a, a, 0, kInt), {"_quantized_add", "int32"});
  test::expect_words(text(a, integers({4}, kByte), 0, kByte), {"_quantized_add", "3", "4"});
  test::expect_words(test::text_of([&] { (void)_byte_table(a, integers({255}, kByte)); }),
                     {"_byte_table", "[256]", "[255]"});
  test::expect_words(test::text_of([&] { (void)_byte_table(a, ones({256})); }),
                     {"_byte_table", "float32"});
}

}  // namespace
