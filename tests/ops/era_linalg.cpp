// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Linear algebra under the names of 0.4: what is factored comes back, and what is solved has no
// residual. Their new names are compared with LAPACK elsewhere.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tests/gradients.h"

namespace tenon {
namespace {

using test::check_gradients;
using test::Inputs;
using test::leaf;

TEST(LinalgLdl, TheFactorIsLowerTriangular) {
  const Tensor a = rand({2, 4, 4}, TensorOptions(kDouble));
  const auto [factor, pivots] = linalg_ldl_factor(a + a.transpose(1, 2) + 4 * eye(4, kDouble));
  EXPECT_TRUE(equal(factor, factor.tril()));
}

class EraLinalg : public testing::TestWithParam<ScalarType> {
 protected:
  EraLinalg() { manual_seed(11); }

  static Tensor normal(IntArrayRef sizes) { return randn(sizes, TensorOptions(GetParam())); }
  // Far from singular: the eigenvalues of the normal part are within about the root of n.
  static Tensor regular(int64_t n) { return normal({n, n}) + n * eye(n, GetParam()); }
  static Tensor regular_batch() { return normal({4, 5, 5}) + 5 * eye(5, GetParam()); }
  static Tensor positive(int64_t n) {
    const Tensor root = normal({n, n});
    return root.matmul(root.t()) + eye(n, GetParam());
  }
  // In units of the greatest element that is wanted.
  static void expect_near(const Tensor& got, const Tensor& wanted) {
    ASSERT_EQ(got.sizes(), wanted.sizes());
    ASSERT_EQ(got.scalar_type(), GetParam());
    const double size = wanted.abs().max().item<double>();
    EXPECT_LE((got - wanted).abs().max().item<double>(),
              (GetParam() == kFloat ? 1e-5 : 1e-10) * std::max(size, 1.0));
  }
  static void expect_orthogonal(const Tensor& q) {
    expect_near(q.t().matmul(q), eye(q.size(1), GetParam()));
  }
};

INSTANTIATE_TEST_SUITE_P(, EraLinalg, testing::Values(kFloat, kDouble),
                         [](const auto& of) { return std::string(dtype_name(of.param)); });

TEST_P(EraLinalg, GesvSolvesAndFactors) {
  const Tensor a = regular(6), b = normal({6, 2});
  const auto [x, LU] = gesv(b, a);
  expect_near(a.matmul(x), b);
  expect_near(std::get<0>(b.gesv(a)), x);
  const auto [P, L, U] = lu_unpack(LU, std::get<1>(btrifact(a)));
  expect_near(P.matmul(L).matmul(U), a);
  const Tensor batch = regular_batch(), sides = normal({4, 5, 3});
  expect_near(batch.matmul(std::get<0>(gesv(sides, batch))), sides);
}

TEST_P(EraLinalg, GelsHasAnOrthogonalResidual) {
  const Tensor a = normal({7, 3}), b = normal({7, 2});
  const auto [x, QR] = gels(b, a);
  ASSERT_EQ(x.sizes(), b.sizes());
  const Tensor residual = a.matmul(x.narrow(0, 0, 3)) - b;
  expect_near(a.t().matmul(residual), zeros({3, 2}, GetParam()));
  const Tensor R = QR.narrow(0, 0, 3).triu();
  expect_near(R.t().matmul(R), a.t().matmul(a));
}

TEST_P(EraLinalg, GelsOfAWideMatrixHasTheShortestSolution) {
  const Tensor a = normal({3, 7}), b = normal({3, 2});
  const Tensor x = std::get<0>(b.gels(a));
  expect_near(a.matmul(x), b);
  // It is in the span of the rows.
  const Tensor weights = std::get<0>(gesv(a.matmul(x), a.matmul(a.t())));
  expect_near(a.t().matmul(weights), x);
}

TEST_P(EraLinalg, TrtrsSolvesWithOneTriangle) {
  const Tensor a = regular(6), b = normal({6, 2});
  for (const bool upper : {true, false}) {
    for (const bool transpose : {true, false}) {
      for (const bool unit : {true, false}) {
        // Ones on the diagonal need small elements beside them.
        const Tensor m = unit ? a / 8 : a;
        Tensor triangle = upper ? m.triu(unit) : m.tril(-int64_t{unit});
        if (unit) triangle = triangle + eye(6, GetParam());
        const auto [x, copy] = trtrs(b, m, upper, transpose, unit);
        expect_near((transpose ? triangle.t() : triangle).matmul(x), b);
        EXPECT_TRUE(equal(copy, m));
        EXPECT_TRUE(equal(std::get<0>(b.trtrs(m, upper, transpose, unit)), x));
      }
    }
  }
}

TEST_P(EraLinalg, PotrfPotrsAndPotri) {
  const Tensor a = positive(6), b = normal({6, 2});
  EXPECT_TRUE(equal(a.potrf(), potrf(a, true))) << "upper is the default of 0.4";
  for (const bool upper : {true, false}) {
    const Tensor factor = potrf(a, upper);
    EXPECT_TRUE(equal(factor, upper ? factor.triu() : factor.tril()));
    expect_near(upper ? factor.t().matmul(factor) : factor.matmul(factor.t()), a);
    expect_near(a.matmul(potrs(b, factor, upper)), b);
    expect_near(a.matmul(potri(factor, upper)), eye(6, GetParam()));
  }
  expect_near(a.matmul(b.potrs(a.potrf())), b);
  expect_near(a.matmul(a.potrf().potri()), eye(6, GetParam()));
}

// Of rank 4: the rows behind it are zeros within the rounding.
TEST_P(EraLinalg, PstrfTakesASemidefiniteMatrix) {
  const Tensor root = normal({6, 4}), a = root.matmul(root.t());
  for (const bool upper : {true, false}) {
    const auto [factor, pivots] = pstrf(a, upper);
    const Tensor u = upper ? factor.triu() : factor.tril().t();
    const Tensor head = u.narrow(0, 0, 4), order = pivots.to(kLong);
    expect_near(head.t().matmul(head), a.index_select(0, order).index_select(1, order));
    EXPECT_TRUE(equal(std::get<0>(order.sort()), arange(6)));
  }
  EXPECT_TRUE(equal(std::get<1>(a.pstrf()), std::get<1>(pstrf(a, true))));
}

TEST_P(EraLinalg, QrFactorsReducedAndComplete) {
  const Tensor a = normal({6, 4});
  for (const bool some : {true, false}) {
    const auto [Q, R] = qr(a, some);
    EXPECT_EQ(Q.size(1), some ? 4 : 6);
    expect_near(Q.matmul(R), a);
    expect_orthogonal(Q);
    EXPECT_TRUE(equal(R, R.triu()));
  }
  EXPECT_TRUE(equal(std::get<1>(a.qr()), std::get<1>(qr(a, true))));
}

TEST_P(EraLinalg, SymeigReadsOneTriangle) {
  const Tensor a = positive(6) - 4 * eye(6, GetParam());
  for (const bool upper : {true, false}) {
    const auto [L, V] = symeig(upper ? a.triu() : a.tril(), true, upper);
    expect_near(V.matmul(L.diag()).matmul(V.t()), a);
    expect_orthogonal(V);
    EXPECT_TRUE(equal(std::get<0>(L.sort()), L));
  }
  const auto [L, none] = a.symeig();
  expect_near(L, std::get<0>(symeig(a, true)));
  EXPECT_EQ(none.numel(), 0);
}

// For values a + bi of vectors u + vi, A u = a u - b v and A v = b u + a v.
TEST_P(EraLinalg, EigGivesPairsOfColumns) {
  const Tensor turn = tensor({0., -2., 0., 2., 0., 0., 0., 0., 5.}, GetParam()).reshape({3, 3});
  const Tensor base = eye(3, GetParam()) + 0.2 * normal({3, 3});
  const Tensor a = base.matmul(turn).matmul(base.inverse());
  const auto [L, V] = eig(a, true);
  ASSERT_EQ(L.sizes(), IntArrayRef({3, 2}));
  int64_t pairs = 0;
  for (int64_t k = 0; k < 3; ++k) {
    const Tensor re = L[k][0], im = L[k][1], u = V.select(1, k);
    if (im.item<double>() == 0) {
      expect_near(a.mv(u), re * u);
      continue;
    }
    ASSERT_GT(im.item<double>(), 0) << "the first of its pair";
    ASSERT_LT(k, 2);
    const Tensor v = V.select(1, k + 1);
    expect_near(a.mv(u), re * u - im * v);
    expect_near(a.mv(v), im * u + re * v);
    expect_near(L[++k], stack({re, -im}));
    ++pairs;
  }
  EXPECT_EQ(pairs, 1);
  const auto [values, none] = a.eig();
  expect_near(values, L);
  EXPECT_EQ(none.numel(), 0);
}

TEST_P(EraLinalg, BtrifactUnpacksToItsBatch) {
  const Tensor a = regular_batch();
  const auto [LU, pivots] = btrifact(a);
  const auto [P, L, U] = btriunpack(LU, pivots);
  expect_near(P.matmul(L).matmul(U), a);
  EXPECT_TRUE(equal(std::get<0>(a.btrifact()), LU));
  EXPECT_TEXT(btrifact(a, false), "btrifact: in linalg.lu_factor: LU without pivoting");
  EXPECT_EQ(std::get<0>(btriunpack(LU, pivots, true, false)).numel(), 0);
  EXPECT_EQ(std::get<1>(btriunpack(LU, pivots, false, true)).numel(), 0);
}

TEST_P(EraLinalg, BtrisolveHasNoResidual) {
  const Tensor a = regular_batch(), b = normal({4, 5, 2});
  const auto [LU, pivots] = btrifact(a);
  const Tensor x = btrisolve(b, LU, pivots);
  expect_near(a.matmul(x), b);
  EXPECT_TRUE(equal(b.btrisolve(LU, pivots), x));
}

TEST_P(EraLinalg, BtrifactWithInfoTellsTheSingularOnes) {
  Tensor a = regular_batch();
  a.select(0, 2).select(0, 3).zero_();
  const auto [LU, pivots, info] = btrifact_with_info(a);
  EXPECT_TRUE(equal(info != 0, tensor({false, false, true, false})));
  const auto [P, L, U] = btriunpack(LU, pivots);
  expect_near(P.matmul(L).matmul(U), a);
  EXPECT_TRUE(equal(std::get<2>(a.btrifact_with_info()), info));
}

TEST(EraLinalgGradients, GesvHasBothGradients) {
  manual_seed(12);
  const auto f = [](const Inputs& in) { return Inputs{std::get<0>(gesv(in[0], in[1]))}; };
  const Tensor a = (randn({3, 3}, kDouble) + 3 * eye(3, kDouble)).requires_grad_();
  check_gradients(f, {leaf({3, 2}), a});
  const Tensor batch = (randn({2, 3, 3}, kDouble) + 3 * eye(3, kDouble)).requires_grad_();
  check_gradients(f, {leaf({2, 3, 2}), batch});
}

}  // namespace
}  // namespace tenon
