// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What linear algebra shares: parts of matrices, and checks. Matrices are the last two dimensions.
// Private to libtenon.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::matrices {

// The conjugate of the transposed matrices.
inline Tensor adj(const Tensor& a) { return a.transpose(-2, -1).conj(); }
// The distance of 1 to the next number of the dtype, or of the parts of a complex one.
inline double epsilon_of(const Tensor& t) {
  return t.scalar_type() == kFloat || t.scalar_type() == ScalarType::ComplexFloat ? 0x1p-23
                                                                                  : 0x1p-52;
}
// Vectors along the last dimension as columns, and as rows.
inline Tensor as_columns(const Tensor& v) { return v.unsqueeze(-1); }
inline Tensor as_rows(const Tensor& v) { return v.unsqueeze(-2); }
inline Tensor diagonal_of(const Tensor& a) { return tenon::diagonal(a, 0, -2, -1); }
// Square matrices with `v` on the diagonal, and zero elsewhere.
inline Tensor diagonal_matrix(const Tensor& v) { return tenon::diag_embed(v, 0, -2, -1); }
// The identity of n rows, of the dtype and on the device of `like`.
inline Tensor identity(int64_t n, const Tensor& like) {
  return tenon::eye(n, like.options().requires_grad(std::nullopt));
}
// The permutation matrix of LAPACK's pivots, of m rows and the dtype of `like`.
Tensor permutation_matrix(const Tensor& pivots, int64_t m, const Tensor& like);

// All dimensions but the last two.
std::vector<int64_t> batch_of(const Tensor& a);
std::vector<int64_t> batch_and(const Tensor& a, std::initializer_list<int64_t> more);
// The shape to which two batches broadcast. ValueError "name: ..." if they do not.
std::vector<int64_t> common_batch(const char* name, const Tensor& a, const Tensor& b);
Tensor with_batch(const Tensor& a, const std::vector<int64_t>& batch);

// ValueError unless `a` holds matrices, or square ones; `name` is the operator as users call it.
void check_matrices(const char* name, const Tensor& a, const char* argument = "A");
void check_square(const char* name, const Tensor& a, const char* argument = "A");
// NotImplementedError unless the dtype is one that LAPACK has.
void check_inexact(const char* name, const Tensor& a);

// LinAlgError if an element of `info` is not 0, with what that says of a factorization. It waits
// for the device.
enum class Factors { Inverse, Solve, Cholesky, Eigh, Eig, Svd, Lstsq, Lu, Ldl };
void check_info(const char* name, Factors of, const Tensor& info);

}  // namespace tenon::matrices
