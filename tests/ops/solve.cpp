// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Square equations of every size: small matrices have loops of their own on the CPU, and agree with
// LAPACK's factors. What torch computes is in the stored cases.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/gradcheck.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

constexpr ScalarType kDtypes[] = {kFloat, kDouble, kComplexFloat, kComplexDouble};

double tolerance(ScalarType dtype) {
  return dtype == kFloat || dtype == kComplexFloat ? 2e-4 : 1e-11;
}

TEST(Solve, FactorsAreThoseOfLapack) {
  manual_seed(3);
  for (const ScalarType dtype : kDtypes) {
    for (int64_t n = 1; n <= 20; ++n) {
      const Tensor a = randn({5, n, n}, dtype) + 0.5 * eye(n, dtype), b = randn({5, n, 3}, dtype);
      auto [x, LU, pivots, info] = _linalg_solve_ex(a, b);
      auto [factors, exchanges, code] = linalg_lu_factor_ex(a);
      EXPECT_LT((LU - factors).abs().max().item<double>(), tolerance(dtype)) << dtype << n;
      EXPECT_TRUE(equal(pivots, exchanges)) << dtype << n;
      EXPECT_TRUE(equal(info, code)) << dtype << n;
      const Tensor left = (a.matmul(x) - b).abs().max() / x.abs().max();
      EXPECT_LT(left.item<double>(), tolerance(dtype)) << dtype << n;
    }
  }
}

TEST(Solve, ZeroPivotsAreTold) {
  for (const int64_t n : {2, 8, 16, 17}) {
    Tensor a = eye(n, kDouble).expand({3, n, n}).clone();
    a.select(0, 1).select(0, n - 1).zero_();
    const Tensor info = std::get<1>(linalg_solve_ex(a, ones({3, n, 1}, kDouble)));
    EXPECT_TRUE(equal(info, tensor({int64_t{0}, n, int64_t{0}}, kInt))) << n;
    EXPECT_TEXT(linalg_solve(a, ones({3, n, 1}, kDouble)), "(Batch element 1)");
  }
}

// Blocks of two rows, of which each half is an index.
TEST(Solve, LdlPivotsThatAreNoBlocksAreRefused) {
  using Pivots = std::vector<int64_t>;
  for (const Pivots& wrong :
       {Pivots{0, 2, 3}, {1, 2, 9}, {1, 2, -3}, {-2, -9, 3}, {-2, -1, 3}, {-2, 1, 3}})
    EXPECT_THROW(linalg_ldl_solve(eye(3), tensor(wrong).to(kInt), ones({3, 1})), ValueError)
        << tensor(wrong);
}

// As through the product of whole matrices, also where one right side serves a batch of factors.
TEST(Solve, TheGradientByAFactorIsThatOfTheProduct) {
  manual_seed(5);
  for (const bool upper : {false, true}) {
    for (const ScalarType dtype : {kDouble, kComplexDouble}) {
      const Tensor whole = randn({2, 3, 3}, dtype) + 3 * eye(3, dtype);
      const Tensor factor = (upper ? whole.triu() : whole.tril()).requires_grad_();
      const Tensor b = randn({3, 2}, dtype).requires_grad_(), g = randn({2, 3, 2}, dtype);
      const Tensor product = upper ? factor.mH().matmul(factor) : factor.matmul(factor.mH());
      const auto expected = autograd::grad({linalg_solve(product, b)}, {b, factor}, {g});
      const auto got = autograd::grad({cholesky_solve(b, factor, upper)}, {b, factor}, {g});
      for (std::size_t k = 0; k < 2; ++k)
        EXPECT_TRUE(allclose(got[k], expected[k], 1e-9, 1e-9)) << k;
      const auto f = [&](const std::vector<Tensor>& t) {
        return std::vector<Tensor>{cholesky_solve(t[0], upper ? t[1].triu() : t[1].tril(), upper)};
      };
      if (dtype != kDouble) continue;
      const std::vector<Tensor> in = {b, whole.clone().requires_grad_()};
      EXPECT_TRUE(autograd::gradcheck(f, in) && autograd::gradgradcheck(f, in));
    }
  }
}

TEST(Solve, ThePivotIsTheLargestOfItsColumn) {
  const Tensor a = tensor({1e-20, 1.0, 1.0, 1.0}, kDouble).reshape({2, 2});
  const Tensor x = linalg_solve(a, tensor({1.0, 2.0}, kDouble));
  EXPECT_TRUE(allclose(x, ones({2}, kDouble)));
}

TEST(Solve, RightSidesOfNoColumnsAndMatricesOfNoRows) {
  EXPECT_EQ(linalg_solve(eye(3), ones({3, 0})).sizes(), IntArrayRef({3, 0}));
  EXPECT_EQ(linalg_solve(ones({2, 0, 0}), ones({2, 0, 4})).sizes(), IntArrayRef({2, 0, 4}));
}

}  // namespace
}  // namespace tenon
