// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops/matrices.h"
#include "tenon/batching/level.h"

#include <algorithm>

namespace tenon::matrices {

using core::join;

Tensor permutation_matrix(const Tensor& pivots, int64_t m, const Tensor& like) {
  const Tensor permutation = tenon::_pivots_to_permutation(pivots.detach(), m);
  const Tensor rows = tenon::arange(m, permutation.options());
  return (as_columns(rows) == as_rows(permutation)).to(like.scalar_type());
}

std::vector<int64_t> batch_of(const Tensor& a) {
  return std::vector<int64_t>(a.sizes().begin(), a.sizes().end() - 2);
}

std::vector<int64_t> batch_and(const Tensor& a, std::initializer_list<int64_t> more) {
  std::vector<int64_t> sizes = batch_of(a);
  sizes.insert(sizes.end(), more);
  return sizes;
}

std::vector<int64_t> common_batch(const char* name, const Tensor& a, const Tensor& b) {
  const auto x = batch_of(a), y = batch_of(b);
  std::vector<int64_t> out(std::max(x.size(), y.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int64_t p = i < x.size() ? x[x.size() - 1 - i] : 1,
                  q = i < y.size() ? y[y.size() - 1 - i] : 1;
    TENON_CHECK(p == q || p == 1 || q == 1, ValueError, name, ": the batches of ", a.sizes(),
                " and ", b.sizes(), " do not broadcast");
    out[out.size() - 1 - i] = p == 1 ? q : p;
  }
  return out;
}

Tensor with_batch(const Tensor& a, const std::vector<int64_t>& batch) {
  std::vector<int64_t> sizes = batch;
  sizes.push_back(a.size(-2));
  sizes.push_back(a.size(-1));
  return a.sizes() == IntArrayRef(sizes) ? a : a.expand(sizes);
}

void check_matrices(const char* name, const Tensor& a, const char* argument) {
  TENON_CHECK(a.dim() >= 2, ValueError, name, ": The input tensor ", argument,
              " must have at least 2 dimensions, got shape ", a.sizes());
}

void check_square(const char* name, const Tensor& a, const char* argument) {
  check_matrices(name, a, argument);
  TENON_CHECK(a.size(-1) == a.size(-2), ValueError, name, ": ", argument,
              " must be batches of square matrices, but they are ", a.size(-2), " by ", a.size(-1),
              " matrices");
}

void check_inexact(const char* name, const Tensor& a) {
  const ScalarType t = a.scalar_type();
  TENON_CHECK(t == kFloat || t == kDouble || isComplexType(t), NotImplementedError, name,
              ": Expected a floating point or complex tensor as input of 32 or 64 bits. Got ",
              toString(t));
}

namespace {

std::string what_failed(Factors of, int64_t info) {
  if (info < 0) return join("argument ", -info, " of the routine of LAPACK has an illegal value");
  switch (of) {
    case Factors::Inverse:
      return join("The diagonal element ", info,
                  " is zero, the inversion could not be completed because the input matrix is "
                  "singular.");
    case Factors::Solve:
      return "The solver failed because the input matrix is singular.";
    case Factors::Cholesky:
      return join(
          "The factorization could not be completed because the input is not positive-definite "
          "(the leading minor of order ",
          info, " is not positive-definite).");
    case Factors::Lu:
      return join("U[", info, ",", info,
                  "] is zero and using it on lu_solve would result in a division by zero. If you "
                  "still want to perform the factorization, consider calling linalg.lu(A, pivot) "
                  "or linalg.lu_factor_ex(A, pivot)");
    case Factors::Ldl:
      return join("The factorization D[", info, ",", info,
                  "] is zero: the matrix is singular, and solving with it would divide by zero.");
    case Factors::Lstsq:
      return join(
          "The least squares solution could not be computed because the input matrix does not "
          "have full rank (error code: ",
          info, ").");
    case Factors::Svd:
      return join(
          "The algorithm failed to converge because the input matrix contained non-finite values, "
          "is ill-conditioned or has too many repeated singular values (error code: ",
          info, ").");
    case Factors::Eigh:
    case Factors::Eig:
      break;
  }
  return join(
      "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
      "many repeated eigenvalues (error code: ",
      info, ").");
}

}  // namespace

void check_info(const char* name, Factors of, const Tensor& info) {
  if (info.is_meta()) return;  // nothing was computed
  const Tensor all = batching::all_values_of(info).detach().reshape({-1}).to(kCPU).contiguous();
  const int32_t* codes = all.const_data_ptr<int32_t>();
  for (int64_t i = 0; i < all.numel(); ++i) {
    if (codes[i] == 0) continue;
    const std::string where = info.dim() > 0 ? join("(Batch element ", i, "): ") : std::string();
    throw LinAlgError(join(name, ": ", where, what_failed(of, codes[i])));
  }
}

}  // namespace tenon::matrices
