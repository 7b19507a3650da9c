// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and singular values of matrices that are large enough for plugin_cpu/linalg/condensed
// (from 256 on): residuals, orthogonality and order in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/threads.h"

namespace tenon {
namespace {

double largest(const Tensor& t) {
  return t.numel() == 0 ? 0 : t.abs().max().to(kFloat64).item<double>();
}

double epsilon(Dtype dtype) {
  return dtype == kFloat32 ? std::numeric_limits<float>::epsilon()
                           : std::numeric_limits<double>::epsilon();
}

// What rounding may leave of a sum over n products of numbers up to 1; LAPACK's own tests allow 30.
double allowed(Dtype dtype, int64_t n) { return epsilon(dtype) * static_cast<double>(n); }

void expect_orthogonal(const Tensor& rows) {
  const Tensor r = rows.to(kFloat64);
  EXPECT_LE(largest(matmul(r, r.t()) - eye(r.size(0), kFloat64)),
            allowed(rows.scalar_type(), r.size(1)));
}

void expect_ascending(const Tensor& v) {
  EXPECT_TRUE((v.narrow(0, 1, v.numel() - 1) >= v.narrow(0, 0, v.numel() - 1)).all().item<bool>());
}

void expect_eigenvectors(const Tensor& symmetric) {
  const int64_t n = symmetric.size(0);
  const Tensor exact = symmetric.to(kFloat64);
  for (const bool upper : {false, true}) {
    // The other triangle is not read.
    const Tensor half = upper ? symmetric.triu() : symmetric.tril();
    const auto [values, vectors] = linalg_eigh(half, upper ? "U" : "L");
    const Tensor V = vectors.to(kFloat64), L = values.to(kFloat64);
    const double size = largest(L), limit = allowed(symmetric.scalar_type(), n);
    EXPECT_LE(largest(matmul(exact, V) - V * L), size * limit);
    expect_orthogonal(vectors.t());
    expect_ascending(values);
    EXPECT_LE(largest(linalg_eigvalsh(half, upper ? "U" : "L").to(kFloat64) - L), size * limit);
  }
}

void expect_singular_vectors(const Tensor& a) {
  const int64_t k = std::min(a.size(0), a.size(1)), n = std::max(a.size(0), a.size(1));
  for (const bool full : {false, true}) {
    const auto [U, S, Vh] = linalg_svd(a, full);
    EXPECT_EQ(U.sizes(), IntArrayRef({a.size(0), full ? a.size(0) : k}));
    EXPECT_EQ(Vh.sizes(), IntArrayRef({full ? a.size(1) : k, a.size(1)}));
    const Tensor again =
        matmul(U.to(kFloat64).narrow(1, 0, k) * S.to(kFloat64), Vh.to(kFloat64).narrow(0, 0, k));
    const double limit = largest(S) * allowed(a.scalar_type(), n);
    EXPECT_LE(largest(again - a.to(kFloat64)), limit);
    expect_orthogonal(U.t());
    expect_orthogonal(Vh);
    expect_ascending(S.flip(0));
    EXPECT_GE(S.min().to(kFloat64).item<double>(), 0);
    EXPECT_LE(largest(linalg_svdvals(a).to(kFloat64) - S.to(kFloat64)), limit);
  }
}

Tensor symmetric(int64_t n, Dtype dtype) {
  const Tensor a = randn({n, n}, dtype);
  return a + a.t();
}

class Condensed : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { manual_seed(7); }
};

TEST_P(Condensed, EigenvectorsOfEverySide) {
  for (const int64_t n : {256, 257, 319, 321, 517}) {
    SCOPED_TRACE(n);
    expect_eigenvectors(symmetric(n, GetParam()));
  }
}

TEST_P(Condensed, SingularVectorsOfEveryShape) {
  for (const auto& [m, n] : {std::pair{256, 256},
                             {257, 257},
                             {300, 257},
                             {384, 256},
                             {256, 384},
                             {289, 321},
                             {520, 515}}) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
    expect_singular_vectors(randn({m, n}, GetParam()));
  }
}

// Nothing is left of the secular equation, or one or two roots are.
TEST_P(Condensed, EqualAndMissingValues) {
  const int64_t n = 260;
  const Tensor identity = eye(n, GetParam()), zero = zeros({n, n}, GetParam()),
               one = ones({n, n}, GetParam());
  Tensor pair = identity.clone();
  pair.narrow(0, 129, 2).narrow(1, 129, 2).fill_(1);
  const Tensor graded = diag(pow(0.9, arange(n, GetParam())));
  for (const Tensor& a : {identity, zero, one, pair, graded, identity + one}) {
    expect_eigenvectors(a);
    expect_singular_vectors(a);
  }
}

// Squares would overflow or vanish.
TEST_P(Condensed, LargeAndSmallNumbers) {
  const double far = GetParam() == kFloat32 ? 1e30 : 1e250;
  const Tensor a = symmetric(256, GetParam());
  for (const double factor : {far, 1 / far}) {
    const auto [L, V] = linalg_eigh(a * factor);
    EXPECT_LE(largest(L.to(kFloat64) / factor - linalg_eigvalsh(a).to(kFloat64)),
              largest(linalg_eigvalsh(a)) * allowed(GetParam(), 256));
    expect_orthogonal(V.t());
    const Tensor S = linalg_svdvals(a * factor);
    EXPECT_LE(largest(S.to(kFloat64) / factor - linalg_svdvals(a).to(kFloat64)),
              largest(linalg_svdvals(a)) * allowed(GetParam(), 256));
  }
  // Columns whose reflectors are made of numbers near the smallest.
  Tensor mixed = a.clone();
  mixed.narrow(1, 100, 100).mul_(GetParam() == kFloat32 ? 1e-37 : 1e-300);
  expect_singular_vectors(mixed);
  mixed.narrow(0, 100, 100).mul_(0);
  expect_singular_vectors(mixed);
}

TEST_P(Condensed, SameBitsOnAnyNumberOfThreads) {
  const Tensor a = randn({330, 290}, GetParam()), s = symmetric(530, GetParam());
  const int before = core::num_threads();
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3}) {
    core::set_num_threads(threads);
    const auto [L, V] = linalg_eigh(s);
    const auto [U, S, Vh] = linalg_svd(a, true);
    const std::vector<Tensor> now = {L, V, U, S, Vh};
    if (first.empty()) first = now;
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(equal(now[i], first[i])) << i;
  }
  core::set_num_threads(before);
}

TEST_P(Condensed, Batches) {
  const Tensor a = randn({3, 256, 260}, GetParam());
  const auto [U, S, Vh] = linalg_svd(a, false);
  for (int64_t b = 0; b < 3; ++b) {
    const auto [u, s, vh] = linalg_svd(a[b], false);
    EXPECT_TRUE(equal(u, U[b]) && equal(s, S[b]) && equal(vh, Vh[b])) << b;
  }
}

TEST_P(Condensed, NumbersThatAreNotFinite) {
  Tensor a = symmetric(256, GetParam());
  a.select(0, 100).select(0, 3).fill_(std::numeric_limits<double>::infinity());
  EXPECT_THROW(linalg_eigh(a), Error);
  EXPECT_THROW(linalg_svd(a, true), Error);
  expect_eigenvectors(symmetric(256, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Types, Condensed, testing::Values(kFloat32, kFloat64),
                         [](const auto& tested) {
                           return std::string(tested.param == kFloat32 ? "Float" : "Double");
                         });

}  // namespace
}  // namespace tenon
