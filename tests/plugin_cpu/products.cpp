// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products in bfloat16 on tiles against double, and bit for bit against the instruction's
// sums.
#include <vector>

#include "plugin_cpu/tiles/emulated.h"
#include "tests/plugin_cpu/on_tiles.h"
#include "tests/support.h"

using namespace tenon;
using test::bf16;
using test::near;
using test::same_bits;

namespace {

struct Shape {
  int64_t m, n, k;
};

// Around tiles, blocks, areas of 128 and steps of ten tiles, and what is left of them; lines that
// are read in place.
const std::vector<Shape> kShapes = {{16, 16, 32}, {8, 8, 64},     {33, 17, 47},   {32, 48, 8},
                                    {9, 300, 41}, {257, 10, 63},  {130, 131, 40}, {40, 31, 1100},
                                    {48, 40, 64}, {144, 33, 320}, {16, 20, 352}};

// 32 elements of k, added to `sum` as the unit that is tested adds them.
float dot(const sdk::BFloat16 (&a)[32], const sdk::BFloat16 (&b)[32], float sum) {
  static const bool dots = test::bfloat16_by("avx512_bf16");
  if (!dots) return cpu::emulated::dot(a, b, sum);
  for (int k = 0; k < 32; k += 2) {  // of a pair the odd element first
    sum = cpu::emulated::multiply_add(cpu::emulated::flushed(a[k + 1]),
                                      cpu::emulated::flushed(b[k + 1]), sum);
    sum = cpu::emulated::multiply_add(cpu::emulated::flushed(a[k]), cpu::emulated::flushed(b[k]),
                                      sum);
  }
  return sum;
}

Tensor by_instruction(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.t().contiguous();
  Tensor out = empty({a.size(0), b.size(1)}, a.options());
  const int64_t m = a.size(0), n = b.size(1), k = a.size(1);
  const auto* px = static_cast<const sdk::BFloat16*>(x.data_ptr());
  const auto* py = static_cast<const sdk::BFloat16*>(y.data_ptr());
  auto* po = static_cast<sdk::BFloat16*>(out.data_ptr());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; p += 32) {
        sdk::BFloat16 row[32], column[32];
        for (int64_t q = 0; q < 32; ++q) {
          row[q] = p + q < k ? px[i * k + p + q] : sdk::BFloat16(0.0f);
          column[q] = p + q < k ? py[j * k + p + q] : sdk::BFloat16(0.0f);
        }
        sum = dot(row, column, sum);
      }
      po[i * n + j] = sdk::BFloat16(sum);
    }
  }
  return out;
}

// The same values with other strides: as they are, transposed, in longer rows, every second element
// of a larger tensor.
std::vector<Tensor> laid_out(const Tensor& t) {
  const Tensor wide = zeros({t.size(0), 2 * t.size(1)}, t.options());
  Tensor gaps = wide.slice(1, 0, 2 * t.size(1), 2);
  gaps.copy_(t);
  const Tensor rows = zeros_like(wide).slice(1, 1, t.size(1) + 1);
  Tensor(rows).copy_(t);
  return {t, t.t().contiguous().t(), rows, gaps};
}

}  // namespace

class TileProducts : public test::OnTiles {};

TEST_F(TileProducts, BitsAreThoseOfTheInstruction) {
  for (const Shape& s : kShapes) {
    Tensor a = bf16(randn({s.m, s.k})), b = bf16(randn({s.k, s.n}));
    // Large terms that cancel: what is added between them is rounded, so that the order shows in
    // the result.
    a.select(1, 0).fill_(0x1p20);
    a.select(1, s.k - 1).fill_(-0x1p20);
    b[0].fill_(1);
    b[s.k - 1].fill_(1);
    const Tensor want = by_instruction(a, b);
    for (const Tensor& x : laid_out(a)) {
      for (const Tensor& y : laid_out(b))
        EXPECT_TRUE(same_bits(mm(x, y), want)) << s.m << " " << s.n << " " << s.k;
    }
  }
}

TEST_F(TileProducts, WideStripsOfALargeProduct) {
  const Tensor a = bf16(randn({1030, 9})), b = bf16(randn({9, 1045}));
  EXPECT_TRUE(same_bits(mm(a, b), by_instruction(a, b)));
}

TEST_F(TileProducts, ScaledSumsAreRoundedOnce) {
  for (const Shape& s : kShapes) {
    const Tensor a = bf16(randn({s.m, s.k})), b = bf16(randn({s.k, s.n})), row = bf16(randn({s.n}));
    const Tensor c = bf16(randn({s.m, s.n})), x = a.to(kDouble), y = b.to(kDouble);
    const Tensor terms = mm(x.abs(), y.abs()) + 1;
    EXPECT_TRUE(near(addmm(c, a, b, 0.5, 2), c.to(kDouble) * 0.5 + mm(x, y) * 2, terms * 2));
    EXPECT_TRUE(near(addmm(row, a, b), row.to(kDouble) + mm(x, y), terms));
    EXPECT_TRUE(near(linear(a, b.t(), row), row.to(kDouble) + mm(x, y), terms));
  }
}

TEST_F(TileProducts, ResultsMayBeTransposedOrHaveGaps) {
  const Tensor a = bf16(randn({50, 70})), b = bf16(randn({70, 90})), want = mm(a, b);
  Tensor flipped = zeros({90, 50}, a.options()).t(),
         gaps = zeros({50, 180}, a.options()).slice(1, 0, 180, 2);
  mm_out(flipped, a, b);
  mm_out(gaps, a, b);
  EXPECT_TRUE(same_bits(flipped.contiguous(), want));
  EXPECT_TRUE(same_bits(gaps.contiguous(), want));
  Tensor sum = flipped;
  sum.addmm_(a, b, 1, 1);
  EXPECT_TRUE(
      near(sum, want.to(kDouble) + mm(a.to(kDouble), b.to(kDouble)), want.to(kDouble).abs() + 100));
}

TEST_F(TileProducts, BatchesAreTheirProducts) {
  for (int64_t count : {2, 20}) {
    const Tensor a = bf16(randn({count, 40, 33})), b = bf16(randn({count, 33, 50})), c = bmm(a, b);
    const Tensor same = bmm(a, b[0].expand({count, 33, 50}));
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(same_bits(c[i].contiguous(), by_instruction(a[i], b[i])));
      EXPECT_TRUE(same_bits(same[i].contiguous(), by_instruction(a[i], b[0])));
    }
    const Tensor add = bf16(randn({50}));
    const Tensor want = baddbmm(add.to(kDouble), a.to(kDouble), b.to(kDouble), 0.5, 2);
    EXPECT_TRUE(near(baddbmm(add, a, b, 0.5, 2), want, ones_like(want) * 100));
  }
}

TEST_F(TileProducts, VeryLongSumsArePackedInParts) {
  const int64_t k = 1 << 16;  // 128 lines of it fill what is packed at once
  const Tensor few = bf16(ones({8, k})), many = bf16(full({130, k}, 0.25));
  EXPECT_TRUE(mm(few, many.t()).eq(0x1p14).all().item<bool>());
  EXPECT_TRUE(mm(many, few.t()).eq(0x1p14).all().item<bool>());
}

TEST_F(TileProducts, NaNsAndInfinitiesStayInTheirRowsAndColumns) {
  const Tensor a = bf16(ones({20, 40})), b = bf16(ones({40, 24}));
  a[3].fill_(std::numeric_limits<double>::infinity());
  b.select(1, 5).fill_(std::numeric_limits<double>::quiet_NaN());
  const Tensor c = mm(a, b).to(kDouble);
  EXPECT_EQ(c.isnan().sum().item<int64_t>(), 20);
  EXPECT_EQ(c.isinf().sum().item<int64_t>(), 23);
  EXPECT_EQ(c.eq(40).sum().item<int64_t>(), 20 * 24 - 20 - 23);
}

TEST_F(TileProducts, SameBitsOnOneThreadAndOnTwo) {
  const Tensor a = bf16(randn({260, 300})), b = bf16(randn({300, 270})),
               x = bf16(randn({9, 32, 40}));
  const auto run = [&] {
    return std::vector<Tensor>{mm(a, b), addmm(b[0].slice(0, 0, 270), a, b), bmm(x, x.mT())};
  };
  test::expect_same_bits_on(2, run);
}
