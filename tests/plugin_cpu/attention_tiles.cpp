// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention in bfloat16 on tiles against double.
#include <limits>
#include <vector>

#include "tenon/runtime/allocator.h"
#include "tests/plugin_cpu/on_tiles.h"
#include "tests/support.h"

using namespace tenon;
using test::bf16;

namespace {

using Mask = std::optional<Tensor>;

struct Shape {
  int64_t queries, keys, depth, width;
};

// Around tiles of 16 and 32, blocks of 64 queries and of 256 keys, and what is left of them.
const std::vector<Shape> kShapes = {
    {64, 256, 64, 64}, {37, 41, 24, 40}, {130, 513, 33, 17}, {300, 70, 8, 250}};

// Weights are rounded once, and so is the result.
bool near(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = std::nullopt,
          bool causal = false, std::optional<double> scale = std::nullopt) {
  const Tensor x = q.to(kDouble), y = k.to(kDouble), z = v.to(kDouble);
  const Mask wide = mask && mask->is_floating_point() ? Mask(mask->to(kDouble)) : mask;
  const Tensor want = scaled_dot_product_attention(x, y, z, wide, 0, causal, scale);
  const Tensor terms = scaled_dot_product_attention(x, y, z.abs(), wide, 0, causal, scale);
  const Tensor given = scaled_dot_product_attention(q, k, v, mask, 0, causal, scale).to(kDouble);
  const Tensor off = (given - want).abs(), both = logical_and(given.isnan(), want.isnan());
  return given.sizes() == want.sizes() &&
         logical_or(both, off <= (want.abs() + terms) * 0x1p-8).all().item<bool>();
}

struct Operands {
  Tensor q, k, v;
  explicit Operands(const Shape& s, double size = 1)
      : q(bf16(randn({2, 3, s.queries, s.depth}) * size)),
        k(bf16(randn({2, 3, s.keys, s.depth}) * size)),
        v(bf16(randn({2, 3, s.keys, s.width}))) {}
};

}  // namespace

class TileAttention : public test::OnTiles {};

TEST_F(TileAttention, OfRaggedShapes) {
  for (const Shape& s : kShapes) {
    const Operands o(s);
    EXPECT_TRUE(near(o.q, o.k, o.v)) << s.queries;
    EXPECT_TRUE(near(o.q, o.k, o.v, std::nullopt, true)) << s.queries;
    EXPECT_TRUE(near(o.q, o.k, o.v, std::nullopt, false, -0.3)) << s.queries;
  }
}

TEST_F(TileAttention, Masks) {
  for (const Shape& s : kShapes) {
    const Operands o(s);
    const Tensor sees = randn({s.queries, s.keys}) > 0;
    sees[3].fill_(false);
    EXPECT_TRUE(near(o.q, o.k, o.v, sees)) << s.queries;
    EXPECT_TRUE(near(o.q, o.k, o.v, bf16(randn({2, 1, s.queries, s.keys})))) << s.queries;
    EXPECT_TRUE(near(o.q, o.k, o.v, bf16(randn({3, 1, s.keys})))) << s.queries;
  }
}

// Falls back to the decomposition: such a mask gives more results than query has heads; the error
// of a wrong one is add's.
TEST_F(TileAttention, MasksOfMoreDimensions) {
  const Operands o({37, 41, 24, 40});
  const Tensor q = o.q[0][0], k = o.k[0][0], v = o.v[0][0];
  for (const Tensor& mask : {bf16(randn({3, 37, 41})), bf16(randn({2, 3, 37, 41}))}) {
    EXPECT_TRUE(near(q, k, v, mask));
    EXPECT_TRUE(near(o.q.slice(0, 0, 1), o.k.slice(0, 0, 1), o.v.slice(0, 0, 1), mask));
  }
  EXPECT_TRUE(near(q, k, v, bf16(randn({1, 41}))));
  EXPECT_THROW(scaled_dot_product_attention(q, k, v, bf16(randn({37, 40}))), ValueError);
}

TEST_F(TileAttention, LargeScoresLeaveOneKey) {
  const Operands o({70, 600, 64, 64}, 20);
  EXPECT_TRUE(near(o.q, o.k, o.v, std::nullopt, false, 1.0));
}

TEST_F(TileAttention, AnyStrides) {
  for (const Shape& s : kShapes) {
    const Operands o(s);
    const auto transposed = [](const Tensor& t) {
      return t.transpose(2, 3).contiguous().transpose(2, 3);
    };
    const auto inside = [](const Tensor& t) {
      return t.transpose(1, 2).contiguous().transpose(1, 2);
    };
    EXPECT_TRUE(near(transposed(o.q), transposed(o.k), transposed(o.v))) << s.queries;
    EXPECT_TRUE(near(inside(o.q), inside(o.k), inside(o.v))) << s.queries;
    EXPECT_TRUE(near(o.q, o.k.slice(1, 0, 1).expand(o.k.sizes()), o.v)) << s.queries;
  }
}

TEST_F(TileAttention, EmptyOnes) {
  for (const Shape& s : std::vector<Shape>{{0, 40, 16, 16}, {40, 0, 16, 16}, {40, 40, 16, 0}}) {
    const Operands o(s);
    EXPECT_TRUE(near(o.q, o.k, o.v)) << s.queries << " " << s.keys;
  }
}

TEST_F(TileAttention, NaNsStayInTheirRows) {
  const Operands o({40, 300, 32, 32});
  o.q[0][1][5].fill_(std::numeric_limits<double>::quiet_NaN());
  const Tensor out = scaled_dot_product_attention(o.q, o.k, o.v);
  EXPECT_EQ(out.isnan().sum().item<int64_t>(), 32);
  EXPECT_EQ(out[0][1][5].isnan().sum().item<int64_t>(), 32);
}

// The fused kernel runs: it never allocates a matrix of scores.
TEST_F(TileAttention, NeedsNoMemoryForScores) {
  const Operands o({500, 3000, 64, 64});
  const uint64_t before = core::memory_stats(core::kHost).allocated_peak;
  const Tensor out = scaled_dot_product_attention(o.q, o.k, o.v);
  EXPECT_LT(core::memory_stats(core::kHost).allocated_peak - before, uint64_t{6 * 500 * 3000});
  EXPECT_EQ(out.scalar_type(), kBFloat16);
}

TEST_F(TileAttention, Gradients) {
  const Operands o({37, 41, 24, 40});
  Tensor q = o.q.clone().requires_grad_(), x = o.q.to(kDouble).requires_grad_();
  scaled_dot_product_attention(q, o.k, o.v).to(kFloat).sum().backward();
  scaled_dot_product_attention(x, o.k.to(kDouble), o.v.to(kDouble)).sum().backward();
  EXPECT_TRUE(allclose(q.grad().to(kDouble), x.grad(), 2e-2, 2e-2));
}

TEST_F(TileAttention, SameBitsOnOneThreadAndOnTwo) {
  const Operands o({200, 300, 40, 50});
  test::expect_same_bits_on(2, [&] {
    return std::vector<Tensor>{scaled_dot_product_attention(o.q, o.k, o.v),
                               scaled_dot_product_attention(o.q, o.k, o.v, std::nullopt, 0, true)};
  });
}
