// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// QR factors of matrices that are large enough for plugin_cpu/linalg/qr (from 128 reflectors on),
// and products with them: against each other in double precision, and against LAPACK, which has
// complex matrices of the same numbers.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/threads.h"

namespace tenon {
namespace {

double largest(const Tensor& t) { return t.abs().max().to(kFloat64).item<double>(); }

double allowed(const Tensor& t) {
  const double epsilon = t.scalar_type() == kFloat32 ? std::numeric_limits<float>::epsilon()
                                                     : std::numeric_limits<double>::epsilon();
  return epsilon * static_cast<double>(std::max(t.size(-2), t.size(-1)));
}

Tensor as_complex(const Tensor& t) {
  return t.to(t.scalar_type() == kFloat32 ? kComplexFloat : kComplexDouble);
}

class Qr : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { manual_seed(11); }
  Tensor random(int64_t m, int64_t n) const { return randn({m, n}, GetParam()); }
};

TEST_P(Qr, FactorsOfEveryShape) {
  for (const auto& [m, n] : {std::pair{128, 128}, {129, 129}, {191, 130}, {130, 333}, {700, 150}}) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
    const Tensor a = random(m, n);
    for (const char* mode : {"reduced", "complete"}) {
      const auto [q, r] = linalg_qr(a, mode);
      const Tensor Q = q.to(kFloat64), R = r.to(kFloat64);
      EXPECT_LE(largest(matmul(Q, R) - a.to(kFloat64)), largest(R) * allowed(a));
      EXPECT_LE(largest(matmul(Q.t(), Q) - eye(Q.size(1), kFloat64)), allowed(a));
      EXPECT_EQ(largest(R.tril(-1)), 0);
    }
  }
}

TEST_P(Qr, ReflectorsAreThoseOfLapack) {
  for (const auto& [m, n] : {std::pair{150, 150}, {333, 140}, {140, 190}}) {
    const Tensor a = random(m, n);
    const auto [mine, tau] = geqrf(a);
    const auto [factors, other_tau] = geqrf(as_complex(a));
    const double limit = 20 * allowed(a);
    EXPECT_LE(largest(mine - real(factors)), limit * largest(mine)) << m << " x " << n;
    EXPECT_LE(largest(tau - real(other_tau)), limit);
  }
}

// Fewer reflectors than columns, on both sides, transposed and not.
TEST_P(Qr, ProductsWithReflectors) {
  const auto [a, tau] = geqrf(random(300, 200));
  const Tensor some = tau.narrow(0, 0, 150),
               square = linalg_householder_product(constant_pad_nd(a, {0, 100}), some).to(kFloat64);
  EXPECT_LE(largest(matmul(square.t(), square) - eye(300, kFloat64)), allowed(a));
  const Tensor wide = real(linalg_householder_product(as_complex(a), as_complex(some)));
  EXPECT_LE(largest(linalg_householder_product(a, some) - wide), 20 * allowed(a));
  for (const bool transposed : {false, true}) {
    const Tensor q = transposed ? square.t() : square, left = random(300, 77),
                 right = random(77, 300);
    EXPECT_LE(largest(ormqr(a.narrow(1, 0, 150), some, left, true, transposed).to(kFloat64) -
                      matmul(q, left.to(kFloat64))),
              5 * allowed(a));
    EXPECT_LE(largest(ormqr(a.narrow(1, 0, 150), some, right, false, transposed).to(kFloat64) -
                      matmul(right.to(kFloat64), q)),
              5 * allowed(a));
  }
}

TEST_P(Qr, SameBitsOnAnyNumberOfThreadsAndInABatch) {
  const Tensor a = randn({2, 260, 190}, GetParam());
  const int before = core::num_threads();
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3}) {
    core::set_num_threads(threads);
    const auto [q, r] = linalg_qr(a);
    const auto [q1, r1] = linalg_qr(a[1]);
    EXPECT_TRUE(equal(q[1], q1) && equal(r[1], r1));
    if (first.empty()) first = {q, r};
    EXPECT_TRUE(equal(q, first[0]) && equal(r, first[1])) << threads;
  }
  core::set_num_threads(before);
}

TEST_P(Qr, ColumnsOfZeros) {
  Tensor a = random(200, 160);
  a.narrow(1, 30, 80).zero_();
  const auto [q, r] = linalg_qr(a);
  EXPECT_LE(largest(matmul(q.to(kFloat64), r.to(kFloat64)) - a.to(kFloat64)),
            largest(r) * allowed(a));
  EXPECT_LE(largest(matmul(q.t(), q).to(kFloat64) - eye(160, kFloat64)), allowed(a));
}

INSTANTIATE_TEST_SUITE_P(Types, Qr, testing::Values(kFloat32, kFloat64), [](const auto& tested) {
  return std::string(tested.param == kFloat32 ? "Float" : "Double");
});

}  // namespace
}  // namespace tenon
