// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Square equations of every size: small matrices have loops of their own on the CPU, and agree with
// LAPACK's factors. What torch computes is in the stored cases.
#include <gtest/gtest.h>

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
