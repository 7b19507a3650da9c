// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention in float32, that of 16-bit floats by it, and their gradients against double.
#include <cmath>
#include <limits>
#include <vector>

#include "tenon/runtime/allocator.h"
#include "tenon/tenon.h"
#include "tests/support.h"

using namespace tenon;

namespace {

using Mask = std::optional<Tensor>;

struct Shape {
  int64_t batches, heads, queries, keys, depth, width;
};

// Around blocks of 96 queries and 256 keys, panels of 64 columns and vectors, and what is left of
// them; several ranges of queries where there are few heads.
const std::vector<Shape> kShapes = {{1, 2, 96, 256, 64, 64},
                                    {2, 3, 37, 41, 24, 40},
                                    {1, 2, 130, 513, 33, 17},
                                    {2, 1, 300, 70, 8, 250},
                                    {1, 1, 1000, 300, 16, 16}};

struct Operands {
  Tensor q, k, v, grad;
  explicit Operands(const Shape& s, double size = 1)
      : q(randn({s.batches, s.heads, s.queries, s.depth}) * size),
        k(randn({s.batches, s.heads, s.keys, s.depth}) * size),
        v(randn({s.batches, s.heads, s.keys, s.width})),
        grad(randn({s.batches, s.heads, s.queries, s.width})) {}
};

Tensor leaf(const Tensor& t, ScalarType type) { return t.detach().to(type).requires_grad_(); }

// As scaled_dot_product_attention calls the kernels for long rows.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, bool causal,
                 std::optional<double> scale) {
  if (q.scalar_type() == kDouble)
    return scaled_dot_product_attention(q, k, v, mask, 0, causal, scale);
  std::optional<Tensor> bias;
  if (mask) {
    const double none = -std::numeric_limits<double>::infinity();
    const Tensor all =
        mask->is_floating_point() ? *mask : zeros_like(*mask, kFloat).masked_fill(~*mask, none);
    bias = all.expand({q.size(0), q.size(1), q.size(2), k.size(2)});
  }
  return std::get<0>(
      _fused_attention(q, k, v, bias, causal, scale.value_or(1 / std::sqrt(double(q.size(3))))));
}

// The result and the gradients by query, key and value.
std::vector<Tensor> results(const Operands& o, ScalarType type, const Mask& mask, bool causal,
                            std::optional<double> scale) {
  const Tensor q = leaf(o.q, type), k = leaf(o.k, type), v = leaf(o.v, type);
  const Mask m = mask && mask->is_floating_point() ? Mask(mask->to(type)) : mask;
  const Tensor out = attention(q, k, v, m, causal, scale);
  out.backward(o.grad.to(type));
  return {out.detach(), q.grad(), k.grad(), v.grad()};
}

void expect_near(const Operands& o, const Mask& mask = std::nullopt, bool causal = false,
                 std::optional<double> scale = std::nullopt, double tolerance = 4e-6,
                 ScalarType type = kFloat) {
  const auto given = results(o, type, mask, causal, scale);
  const auto want = results(o, kDouble, mask, causal, scale);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double off = (given[i].to(kDouble) - want[i]).abs().max().item<double>();
    EXPECT_LE(off, want[i].abs().max().item<double>() * tolerance) << "of result " << i;
    EXPECT_EQ(given[i].scalar_type(), type);
  }
}

}  // namespace

TEST(FloatAttention, OfRaggedShapes) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(s.queries);
    const Operands o(s);
    expect_near(o);
    expect_near(o, std::nullopt, true);
    expect_near(o, std::nullopt, false, -0.3);
  }
}

TEST(FloatAttention, Masks) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(s.queries);
    const Operands o(s);
    const Tensor sees = randn({s.queries, s.keys}) > 0;
    sees[3].fill_(false);
    expect_near(o, sees);
    expect_near(o, randn({s.batches, 1, s.queries, s.keys}));
    expect_near(o, randn({s.heads, 1, s.keys}));
  }
}

// Scores of thousands, whose last bits are tenths of thousandths.
TEST(FloatAttention, LargeScoresLeaveOneKey) {
  expect_near(Operands({1, 2, 70, 600, 64, 64}, 20), std::nullopt, false, 1.0, 1e-2);
}

TEST(FloatAttention, AnyStrides) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(s.queries);
    Operands o(s);
    const auto transposed = [](const Tensor& t) {
      return t.transpose(2, 3).contiguous().transpose(2, 3);
    };
    const auto inside = [](const Tensor& t) {
      return t.transpose(1, 2).contiguous().transpose(1, 2);
    };
    o.q = transposed(o.q), o.k = inside(o.k), o.v = transposed(o.v), o.grad = inside(o.grad);
    expect_near(o);
    o.k = o.k.slice(1, 0, 1).expand(o.k.sizes());
    expect_near(o);
  }
}

TEST(FloatAttention, EmptyOnes) {
  for (const Shape& s : std::vector<Shape>{{2, 3, 0, 40, 16, 16},
                                           {2, 3, 40, 40, 16, 0},
                                           {2, 3, 40, 40, 0, 16},
                                           {0, 3, 40, 40, 16, 16}}) {
    const Operands o(s);
    for (const Tensor& t : results(o, kFloat, std::nullopt, false, 1.0))
      EXPECT_EQ(t.isfinite().sum().item<int64_t>(), t.numel());
    const Tensor out = attention(o.q, o.k, o.v, std::nullopt, false, std::nullopt);
    EXPECT_EQ(out.sizes(), o.grad.sizes());
  }
  const Operands none({2, 3, 40, 0, 16, 16});
  const Tensor zero = attention(none.q, none.k, none.v, std::nullopt, false, std::nullopt);
  EXPECT_EQ(zero.abs().sum().item<float>(), 0);
}

TEST(FloatAttention, NaNsStayInTheirRows) {
  const Operands o({2, 3, 40, 300, 32, 32});
  o.q[0][1][5].fill_(std::numeric_limits<double>::quiet_NaN());
  const Tensor out = attention(o.q, o.k, o.v, std::nullopt, false, std::nullopt);
  EXPECT_EQ(out.isnan().sum().item<int64_t>(), 32);
  EXPECT_EQ(out[0][1][5].isnan().sum().item<int64_t>(), 32);
}

// Forward and backward: there is never a matrix of scores.
TEST(FloatAttention, MemoryIsLinearInTheLength) {
  const Operands o({1, 1, 2000, 3000, 64, 64});
  for (ScalarType type : {kFloat, kHalf, kBFloat16}) {
    const Tensor q = leaf(o.q, type), k = o.k.to(type), v = o.v.to(type), grad = o.grad.to(type);
    const uint64_t before = core::memory_stats(core::kHost).allocated_peak;
    scaled_dot_product_attention(q, k, v).backward(grad);
    EXPECT_LT(core::memory_stats(core::kHost).allocated_peak - before, uint64_t{2000 * 3000})
        << type;
  }
}

// Operands, results and gradients are rounded; backward reads the rounded result.
TEST(FloatAttention, OperandsOf16BitsAreWidened) {
  for (ScalarType type : {kHalf, kBFloat16}) {
    for (const Shape& s : kShapes) {
      SCOPED_TRACE(std::string(toString(type)) + " " + std::to_string(s.queries));
      Operands o(s);
      for (Tensor* t : {&o.q, &o.k, &o.v, &o.grad}) *t = t->to(type).to(kFloat);
      const double tolerance = type == kHalf ? 2e-3 : 1.6e-2;
      expect_near(o, std::nullopt, false, std::nullopt, tolerance, type);
      expect_near(o, std::nullopt, true, -0.3, tolerance, type);
      const Tensor sees = randn({s.queries, s.keys}) > 0;
      sees[3].fill_(false);
      o.k = o.k.transpose(2, 3).contiguous().transpose(2, 3);
      expect_near(o, sees, false, std::nullopt, tolerance, type);
    }
  }
}

TEST(FloatAttention, LogarithmsOfSums) {
  const Operands o({1, 2, 130, 300, 16, 16});
  const auto [out, sums] = _fused_attention(o.q, o.k, o.v, std::nullopt, false, 0.5);
  const Tensor want = (o.q.to(kDouble).matmul(o.k.to(kDouble).transpose(2, 3)) * 0.5)
                          .logsumexp(std::vector<int64_t>{-1});
  EXPECT_TRUE(allclose(sums.to(kDouble), want, 1e-6, 1e-6));
}

// A second derivative goes through separate operators; that of a mask does in the first, too.
TEST(FloatAttention, SecondDerivativesAndThatOfAMask) {
  const Operands o({1, 2, 40, 50, 8, 8});
  const Tensor mask = randn({40, 50});
  const auto by = [&](ScalarType type) {
    const Tensor q = leaf(o.q, type), k = leaf(o.k, type), v = leaf(o.v, type),
                 m = leaf(mask, type);
    const Tensor plain = attention(q, k, v, std::nullopt, false, std::nullopt);
    const Tensor first = autograd::grad({plain}, {q}, {o.grad.to(type)}, true, true)[0];
    auto all = autograd::grad({first.pow(2).sum()}, {q, k, v});
    const Tensor masked = attention(q, k, v, m, false, std::nullopt);
    all.push_back(autograd::grad({masked}, {m}, {o.grad.to(type)})[0]);
    return all;
  };
  const auto given = by(kFloat), want = by(kDouble);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(allclose(given[i].to(kDouble), want[i], 1e-4, 1e-4)) << i;
}

TEST(FloatAttention, SameBitsOnOneThreadAndOnTwo) {
  for (const Shape& s : kShapes) {
    const Operands o(s);
    test::expect_same_bits_on(2, [&] { return results(o, kFloat, std::nullopt, true, 0.2); });
  }
}
