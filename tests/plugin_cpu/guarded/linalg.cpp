// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What LAPACK works on can be read a little behind its end (plugin_cpu/linalg/batches.h): every
// factorization with each block from operator new at the end of a page whose successor is closed.
// This program replaces operator new, so it stands alone.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tenon/tenon.h"
#include "tests/closed_pages.h"

using namespace tenon;

namespace {

std::atomic<bool> guarded{false};  // of every thread

// They are not given back: an address tells neither its pages nor who made it.
void* guarded_block(std::size_t bytes) {
  void* const place = std::malloc(sizeof(test::ClosedPages));
  if (place == nullptr) throw std::bad_alloc();
  return (new (place) test::ClosedPages(bytes))->end() - (bytes + 15) / 16 * 16;
}

// As above or of malloc, after a word that says which.
constexpr std::size_t kHead = 16;

void* allocate(std::size_t bytes) {
  const bool closed = guarded;
  void* block = closed ? guarded_block(bytes + kHead) : std::malloc(bytes + kHead);
  if (block == nullptr) throw std::bad_alloc();
  *static_cast<bool*>(block) = closed;
  return static_cast<char*>(block) + kHead;
}

void release(void* p) {
  if (p == nullptr) return;
  void* const block = static_cast<char*>(p) - kHead;
  if (!*static_cast<bool*>(block)) std::free(block);
}

class Guarded {
 public:
  Guarded() { guarded = true; }
  ~Guarded() { guarded = false; }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
};

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }

namespace {

class GuardedLinalg : public testing::TestWithParam<ScalarType> {
 protected:
  Tensor matrix(int64_t rows, int64_t columns) { return randn({rows, columns}, GetParam()); }
};

TEST_P(GuardedLinalg, AnyShape) {
  for (int64_t m = 1; m <= 9; ++m)
    for (int64_t n = 1; n <= 9; ++n) {
      SCOPED_TRACE(testing::Message() << m << " x " << n);
      const Tensor a = matrix(m, n), b = matrix(m, 2);
      const Guarded scope;
      const auto [u, s, vh] = linalg_svd(a, false);
      const Tensor back = matmul(u * s, vh);
      EXPECT_TRUE(allclose(back, a, 1e-3, 1e-3));
      linalg_svd(a, true);
      const auto [q, r] = linalg_qr(a, "complete");
      EXPECT_TRUE(allclose(matmul(q, r), a, 1e-3, 1e-3));
      for (const char* driver : {"gelsy", "gelsd", "gelss"}) linalg_lstsq(a, b, {}, driver);
      linalg_lu_factor(a);
    }
}

TEST_P(GuardedLinalg, Square) {
  for (int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 33, 34, 70}) {
    SCOPED_TRACE(testing::Message() << n);
    const Tensor a = matrix(n, n), b = matrix(n, 3);
    const Tensor positive = matmul(a, a.mH()) + eye(n, a.scalar_type());
    const Guarded scope;
    linalg_eig(a);
    linalg_eigh(positive);
    linalg_cholesky(positive);
    linalg_ldl_factor(positive);
    linalg_solve(positive, b);
    linalg_inv(positive);
    const auto [factors, tau] = geqrf(a);
    ormqr(factors, tau, b);
    linalg_householder_product(factors, tau);
  }
}

// Beyond the size from which reductions go by blocks of columns.
TEST_P(GuardedLinalg, Blocked) {
  const Tensor a = matrix(202, 170), square = matrix(170, 170);
  const Guarded scope;
  linalg_svd(a, false);
  linalg_svd(a.t().contiguous(), true);
  linalg_eig(square);
  linalg_eigh(matmul(square, square.mH()));
}

// Beyond the sizes from which real matrices are reduced by our own loops.
TEST_P(GuardedLinalg, OverThreads) {
  const Tensor a = matrix(271, 259), square = matrix(263, 263), b = matrix(263, 5);
  const Tensor symmetric = square + square.mH();
  const Guarded scope;
  const auto [u, s, vh] = linalg_svd(a, true);
  EXPECT_TRUE(allclose(matmul(u.narrow(1, 0, 259) * s, vh), a, 1e-3, 1e-3));
  linalg_svd(a.t().contiguous(), false);
  linalg_svdvals(a);
  const auto [values, vectors] = linalg_eigh(symmetric);
  EXPECT_TRUE(allclose(matmul(vectors * values, vectors.mH()), symmetric, 1e-3, 1e-3));
  linalg_eigvalsh(symmetric);
  const auto [q, r] = linalg_qr(a);
  EXPECT_TRUE(allclose(matmul(q, r), a, 1e-3, 1e-3));
  const auto [factors, tau] = geqrf(square);
  ormqr(factors, tau, b);
  ormqr(factors, tau, b.mH().contiguous(), false, true);
  EXPECT_TRUE(allclose(matmul(square, linalg_solve(square, b)), b, 1e-2, 1e-2));
}

INSTANTIATE_TEST_SUITE_P(Dtypes, GuardedLinalg,
                         testing::Values(kFloat, kDouble, kComplexFloat, kComplexDouble),
                         [](const auto& info) { return std::string(toString(info.param)); });

}  // namespace
