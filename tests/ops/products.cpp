// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products against loops, their error texts, and the same bits on one thread and on two.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
using test::same_bits;

namespace {

// [b, m, k] x [b, k, n] by definition, in double.
Tensor by_loops(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(kDouble).contiguous(), y = b.to(kDouble).contiguous();
  Tensor out = zeros({x.size(0), x.size(1), y.size(2)}, TensorOptions().dtype(kDouble));
  const auto ax = x.accessor<double, 3>();
  const auto ay = y.accessor<double, 3>();
  auto ao = out.accessor<double, 3>();
  for (int64_t q = 0; q < out.size(0); ++q) {
    for (int64_t i = 0; i < out.size(1); ++i) {
      for (int64_t j = 0; j < out.size(2); ++j) {
        double sum = 0;
        for (int64_t p = 0; p < x.size(2); ++p) sum += ax[q][i][p] * ay[q][p][j];
        ao[q][i][j] = sum;
      }
    }
  }
  return out;
}

bool close(const Tensor& a, const Tensor& b, double tolerance) {
  return a.sizes() == b.sizes() &&
         ((a.to(kDouble) - b.to(kDouble)).abs().max().item<double>() <= tolerance);
}

TEST(Products, OfSixteenBitsMayBeOfFloats) {
  manual_seed(2);
  const Tensor a = randn({2, 5, 300}).to(kBFloat16), b = randn({2, 300, 4}).to(kBFloat16),
               c = randn({2, 5, 4}).to(kBFloat16);
  const Tensor exact = a.to(kDouble).bmm(b.to(kDouble));
  const auto near = [&](const Tensor& got, const Tensor& expected) {
    EXPECT_EQ(got.scalar_type(), kFloat);
    EXPECT_TRUE(allclose(got.to(kDouble), expected, 1e-4, 1e-4));
  };
  near(bmm(a, b, kFloat), exact);
  near(mm(a[0], b[0], kFloat), exact[0]);
  near(addmm(c[0], a[0], b[0], kFloat, 2, 0.5), c[0].to(kDouble) * 2 + exact[0] * 0.5);
  near(baddbmm(c, a, b, kFloat), c.to(kDouble) + exact);
  test::expect_words(test::text_of<TypeError>([&] { mm(a[0], b[0], kHalf); }),
                     {"mm: out_dtype must be", "BFloat16", "got Half"});
}

}  // namespace

// Every pair of ranks from 1 to 5.
TEST(Matmul, AllPairsOfRanks) {
  const std::vector<std::vector<int64_t>> lefts = {
      {4}, {3, 4}, {2, 3, 4}, {5, 1, 3, 4}, {2, 5, 1, 3, 4}};
  const std::vector<std::vector<int64_t>> rights = {
      {4}, {4, 6}, {2, 4, 6}, {5, 2, 4, 6}, {1, 5, 2, 4, 6}};
  for (const auto& l : lefts) {
    for (const auto& r : rights) {
      const Tensor a = randn(l, TensorOptions().dtype(kDouble)),
                   b = randn(r, TensorOptions().dtype(kDouble));
      const Tensor wide_a = l.size() == 1 ? a.unsqueeze(0) : a,
                   wide_b = r.size() == 1 ? b.unsqueeze(1) : b;
      const Tensor got = matmul(a, b);
      const Tensor want = (wide_a.unsqueeze(-1) * wide_b.unsqueeze(-3)).sum({-2});
      std::vector<int64_t> shape = want.sizes().vec();
      if (r.size() == 1) shape.pop_back();
      if (l.size() == 1) shape.erase(shape.end() - (r.size() == 1 ? 1 : 2));
      ASSERT_EQ(got.sizes(), IntArrayRef(shape)) << l.size() << " " << r.size();
      EXPECT_TRUE(close(got, want.reshape(shape), 1e-12)) << l.size() << " " << r.size();
    }
  }
}

TEST(Matmul, RefusesZeroDimensions) {
  test::expect_words(test::text_of([] { matmul(ones({}), ones({2})); }), {"at least 1"});
}

TEST(Matmul, ShapesAndDtypesOfMmAreChecked) {
  EXPECT_THROW(mm(ones({2, 3}), ones({2, 3})), ValueError);
  EXPECT_THROW(mm(ones({2}), ones({2, 3})), ValueError);
  EXPECT_THROW(mm(ones({2, 2}), ones({2, 2}, TensorOptions().dtype(kDouble))), TypeError);
  EXPECT_THROW(bmm(ones({2, 2, 2}), ones({3, 2, 2})), ValueError);
}

TEST(Matmul, StridesAndSizesAroundTheBlocks) {
  for (int64_t n : {1, 5, 17, 64, 65, 130}) {
    for (int64_t k : {1, 7, 64, 300}) {
      for (ScalarType t : {kFloat, kDouble}) {
        const TensorOptions o = TensorOptions().dtype(t);
        const Tensor a = randn({1, n, k}, o), b = randn({1, k, n + 3}, o);
        const double tolerance = (t == kFloat ? 4e-6 : 1e-13) * static_cast<double>(k + 4);
        const Tensor want = by_loops(a, b);
        const Tensor at = a.transpose(1, 2).contiguous().transpose(1, 2);
        const Tensor bt = b.transpose(1, 2).contiguous().transpose(1, 2);
        EXPECT_TRUE(close(bmm(a, b), want, tolerance)) << n << " " << k;
        EXPECT_TRUE(close(bmm(at, b), want, tolerance)) << n << " " << k;
        EXPECT_TRUE(close(bmm(a, bt), want, tolerance)) << n << " " << k;
        EXPECT_TRUE(close(mm(at[0], bt[0]), want[0], tolerance)) << n << " " << k;
        EXPECT_TRUE(close(addmm(b[0][0], a[0], bt[0], 0.5, 2),
                          b[0][0].to(kDouble) * 0.5 + want[0] * 2, 2 * tolerance))
            << n << " " << k;
        EXPECT_TRUE(close(mv(a[0], b[0].select(1, 2)), want[0].select(1, 2), tolerance))
            << n << " " << k;
      }
    }
  }
}

// The planes of convolutions: columns that fill vectors but for one to four, and few rows.
TEST(Matmul, ColumnsThatDoNotFillVectors) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{97, 96, 49},
                                                                   {200, 33, 17},
                                                                   {66, 700, 51},
                                                                   {40, 240, 196},
                                                                   {24, 88, 784},
                                                                   {64, 9, 900}}) {
    for (ScalarType t : {kFloat, kDouble}) {
      const TensorOptions o = TensorOptions().dtype(t);
      const Tensor a = randn({1, m, k}, o), b = randn({1, k, n}, o), c = randn({m, n}, o);
      const double tolerance = (t == kFloat ? 4e-6 : 1e-13) * static_cast<double>(k + 4);
      const Tensor want = by_loops(a, b);
      EXPECT_TRUE(close(bmm(a, b), want, tolerance)) << m << " " << k << " " << n;
      EXPECT_TRUE(
          close(addmm(c, a[0], b[0], 0.5, 2), c.to(kDouble) * 0.5 + want[0] * 2, 2 * tolerance))
          << m << " " << k << " " << n;
      test::expect_same_bits_on(2, [&] { return std::vector<Tensor>{bmm(a, b)}; });
    }
  }
}

TEST(Matmul, SameBitsOfVectorsOnOneThreadAndOnTwo) {
  for (const auto& [k, n] :
       std::vector<std::array<int64_t, 2>>{{256, 1027}, {1030, 300}, {70, 9000}}) {
    const Tensor x = randn({1, k}), w = randn({k, n}), t = randn({n, k}).t();
    const Tensor want = by_loops(x.unsqueeze(0), w.unsqueeze(0))[0];
    EXPECT_TRUE(close(mm(x, w), want, 4e-6 * static_cast<double>(k)));
    test::expect_same_bits_on(2, [&] { return std::vector<Tensor>{mm(x, w), mm(x, t)}; });
  }
}

TEST(Matmul, BetaZeroDoesNotReadTheAddend) {
  const Tensor nan = full({2, 3}, std::numeric_limits<double>::quiet_NaN());
  const Tensor out = addmm(nan, ones({2, 4}), ones({4, 3}), 0, 2);
  EXPECT_TRUE(close(out, full({2, 3}, 8.0), 0));
  EXPECT_TRUE(close(baddbmm(nan.unsqueeze(0), ones({1, 2, 4}), ones({1, 4, 3}), 0),
                    full({1, 2, 3}, 4.0), 0));
}

TEST(Matmul, ExpandedAddend) {
  const TensorOptions o = TensorOptions().dtype(kDouble);
  const Tensor self = randn({3}, o), a = randn({4, 2, 5}, o), b = randn({4, 5, 3}, o);
  const Tensor dense = self.expand({4, 2, 3}).contiguous();
  EXPECT_TRUE(same_bits(baddbmm(self.expand({4, 2, 3}), a, b), baddbmm(dense, a, b)));
  EXPECT_TRUE(close(baddbmm(self, a, b, 0.5, 2), dense * 0.5 + by_loops(a, b) * 2, 1e-12));
}

TEST(Matmul, IntegersWrap) {
  const TensorOptions o = TensorOptions().dtype(kInt8);
  const Tensor out = mm(full({1, 2}, 100, o), full({2, 1}, 2, o));  // 400 mod 256
  EXPECT_EQ(out.item<int64_t>(), -112);
}

TEST(Matmul, SameBitsOnOneThreadAndOnTwo) {
  const Tensor a = randn({300, 500}), b = randn({500, 260}), x = randn({8, 6, 20, 20}),
               w = randn({10, 6, 3, 3});
  const auto run = [&] {
    const Tensor xg = x.detach().set_requires_grad(true), wg = w.detach().set_requires_grad(true);
    const Tensor y = conv2d(xg, wg, std::nullopt, {1}, {1});
    (y * y).sum().backward();
    return std::vector<Tensor>{mm(a, b),  y.detach(),    xg.grad(),
                               wg.grad(), softmax(a, 1), layer_norm(a, {500})};
  };
  test::expect_same_bits_on(2, run);
}

TEST(Matmul, SixteenBitFloatsAccumulateInFloat) {
  for (ScalarType t : {kHalf, kBFloat16}) {
    const Tensor a = ones({1, 4096}, TensorOptions().dtype(t)),
                 b = full({4096, 1}, 0.25, TensorOptions().dtype(t));
    EXPECT_EQ(mm(a, b).item<float>(), 1024.0f);
  }
}

TEST(MatrixExp, OfSixteenBitFloatsIsThatOfFloats) {
  const Tensor a = tensor({0.5, -1., 2., 0.25}).reshape({2, 2});
  for (ScalarType t : {kHalf, kBFloat16}) {
    EXPECT_TRUE(equal(matrix_exp(a.to(t)), matrix_exp(a.to(kFloat)).to(t)));
    const Tensor x = a.to(t).requires_grad_();
    matrix_exp(x).sum().backward();
    EXPECT_EQ(x.grad().scalar_type(), t);
  }
}
