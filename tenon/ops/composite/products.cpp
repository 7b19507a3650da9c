// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products and powers of matrices and vectors, and distances.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/ops/matrices.h"

namespace tenon::composite {
namespace {

using namespace matrices;

// 1, x, x^2 .. as a new last dimension.
Tensor powers(const Tensor& x, int64_t n) {
  const Tensor wide = isFloatingType(x.scalar_type()) || x.is_complex() ? x : x.to(kLong);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.push_back(1);
  const Tensor one = tenon::ones(sizes, wide.options().requires_grad(std::nullopt));
  if (n == 0) return one.narrow(-1, 0, 0);
  if (n == 1) return one;
  sizes.back() = n - 1;
  return tenon::cat({one, wide.unsqueeze(-1).expand(sizes).cumprod(-1)}, -1);
}

// What the matrices of a product are computed in, so that out_dtype loses nothing.
Tensor as_product(const char* op, const Tensor& matrix, ScalarType out_dtype) {
  const ScalarType t = matrix.scalar_type();
  TENON_CHECK(t == out_dtype || (out_dtype == kFloat && (t == kHalf || t == kBFloat16)), TypeError,
              op, ": out_dtype must be the dtype of the matrices, ", toString(t),
              ", or Float for matrices of Half or BFloat16, got ", toString(out_dtype));
  return matrix.to(out_dtype);
}

}  // namespace

Tensor mm_dtype(const Tensor& self, const Tensor& mat2, ScalarType out_dtype) {
  return as_product("mm", self, out_dtype).mm(as_product("mm", mat2, out_dtype));
}

Tensor bmm_dtype(const Tensor& self, const Tensor& mat2, ScalarType out_dtype) {
  return as_product("bmm", self, out_dtype).bmm(as_product("bmm", mat2, out_dtype));
}

Tensor addmm_dtype(const Tensor& self, const Tensor& mat1, const Tensor& mat2, ScalarType out_dtype,
                   const Scalar& beta, const Scalar& alpha) {
  return as_product("addmm", self, out_dtype)
      .addmm(as_product("addmm", mat1, out_dtype), as_product("addmm", mat2, out_dtype), beta,
             alpha);
}

Tensor baddbmm_dtype(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                     ScalarType out_dtype, const Scalar& beta, const Scalar& alpha) {
  return as_product("baddbmm", self, out_dtype)
      .baddbmm(as_product("baddbmm", batch1, out_dtype), as_product("baddbmm", batch2, out_dtype),
               beta, alpha);
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  TENON_CHECK(x.scalar_type() == y.scalar_type(), TypeError,
              "linalg.vecdot: Expected x and y to have the same dtype, but got x's dtype ",
              toString(x.scalar_type()), " and y's dtype ", toString(y.scalar_type()));
  const Tensor product = x.conj() * y;
  return product.sum({dim}, false, x.scalar_type());
}

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> n) {
  TENON_CHECK(x.scalar_type() != kBool, NotImplementedError,
              "linalg.vander: Expected floating point, integer or complex input, got bool");
  const Tensor row = x.dim() == 0 ? x.unsqueeze(0) : x;
  const int64_t columns = n.value_or(row.size(-1));
  TENON_CHECK(columns > 1, ValueError, "linalg.vander: N must be greater than 1, got ", columns);
  core::check_room("linalg.vander", "results", columns, sizeof(double));
  return powers(row, columns);
}

Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  TENON_CHECK(x.dim() == 1, ValueError, "vander: x must be a one-dimensional tensor, got shape ",
              x.sizes());
  const int64_t columns = n.value_or(x.size(0));
  TENON_CHECK(columns >= 0, ValueError, "vander: N must be non-negative, got ", columns);
  core::check_room("vander", "results", columns, sizeof(double));
  const Tensor out = powers(x, columns);
  return increasing ? out : out.flip({-1});
}

// The dimensions of both in turn, then pairs of them as one.
Tensor kron(const Tensor& self, const Tensor& other) {
  const int64_t rank = std::max(self.dim(), other.dim());
  std::vector<int64_t> a, b, out;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t x = d - rank + self.dim(), y = d - rank + other.dim();
    const int64_t m = x < 0 ? 1 : self.size(x), n = y < 0 ? 1 : other.size(y);
    a.insert(a.end(), {m, 1});
    b.insert(b.end(), {1, n});
    out.push_back((core::Size(m) * n).get("kron", "a size of the result"));
  }
  return (self.reshape(a) * other.reshape(b)).reshape(out);
}

Tensor adjoint(const Tensor& self) {
  TENON_CHECK(self.dim() != 1, ValueError,
              "adjoint: tensor.adjoint() is only supported on matrices or batches of matrices. Got "
              "1-D tensor.");
  return self.dim() == 0 ? self.conj() : adj(self);
}

Tensor matrix_H(const Tensor& self) {
  TENON_CHECK(self.dim() == 0 || self.dim() == 2, ValueError,
              "matrix_H: tensor.H is only supported on matrices (2-D tensors). Got ", self.dim(),
              "-D tensor.");
  return self.dim() == 0 ? self.conj() : adj(self);
}

Tensor numpy_T(const Tensor& self) {
  std::vector<int64_t> dims(static_cast<std::size_t>(self.dim()));
  std::iota(dims.rbegin(), dims.rend(), int64_t{0});
  return self.permute(dims);
}

Tensor linalg_multi_dot(TensorList tensors) {
  const std::size_t n = tensors.size();
  TENON_CHECK(n >= 2, ValueError, "linalg.multi_dot: expected at least 2 tensors but got ", n);
  std::vector<Tensor> matrices(tensors.begin(), tensors.end());
  const bool first = matrices.front().dim() == 1, last = matrices.back().dim() == 1;
  if (first) matrices.front() = matrices.front().unsqueeze(0);
  if (last) matrices.back() = matrices.back().unsqueeze(1);
  for (std::size_t i = 0; i < n; ++i) {
    const bool end = i == 0 || i + 1 == n;
    TENON_CHECK(matrices[i].dim() == 2, ValueError, "linalg.multi_dot: tensor ", i, " must be ",
                end ? "1D or 2D" : "2D", " but got shape ", tensors[i].sizes());
    TENON_CHECK(i == 0 || matrices[i - 1].size(1) == matrices[i].size(0), ValueError,
                "linalg.multi_dot: tensors ", i == 0 ? 0 : i - 1, " and ", i, " with shapes ",
                tensors[i == 0 ? 0 : i - 1].sizes(), " and ", tensors[i].sizes(),
                " cannot be multiplied");
    TENON_CHECK(matrices[i].scalar_type() == matrices[0].scalar_type(), TypeError,
                "linalg.multi_dot: all tensors must have the same dtype, but got ",
                toString(matrices[0].scalar_type()), " and ", toString(matrices[i].scalar_type()));
  }
  Tensor out = tenon::chain_matmul(matrices);
  if (last) out = out.squeeze(-1);
  return first ? out.squeeze(0) : out;
}

// Squares of the matrix, multiplied where the exponent has a bit.
Tensor linalg_matrix_power(const Tensor& self, int64_t n) {
  check_square("linalg.matrix_power", self);
  // Its gradient is zero, whatever the elements are.
  if (n == 0) {
    const Tensor all = tenon::ones({}, self.options().dtype(kBool).requires_grad(std::nullopt));
    return self.masked_fill(all, 0) + identity(self.size(-1), self);
  }
  TENON_CHECK(n != std::numeric_limits<int64_t>::min(), ValueError,
              "linalg.matrix_power: the exponent is too small, got ", n);
  Tensor square = n < 0 ? tenon::linalg_inv(self) : self, out;
  for (int64_t left = n < 0 ? -n : n;;) {
    if (left & 1) out = out.defined() ? tenon::matmul(out, square) : square;
    left >>= 1;
    if (left == 0) break;
    square = tenon::matmul(square, square);
  }
  return n == 1 ? self.clone() : out;
}

// exp of [[A^H, G], [0, A^H]] has the gradient in its corner.
Tensor matrix_exp_backward(const Tensor& self, const Tensor& grad) {
  check_square("matrix_exp_backward", self, "self");
  TENON_CHECK(grad.device() == self.device(), TypeError, "matrix_exp_backward: grad is on ",
              grad.device().str(), " and self on ", self.device().str());
  const Tensor h = adj(self);
  const int64_t n = self.size(-1);
  const Tensor block =
      tenon::cat({tenon::cat({h, grad}, -1), tenon::cat({tenon::zeros_like(grad), h}, -1)}, -2);
  return tenon::linalg_matrix_exp(block).narrow(-2, 0, n).narrow(-1, n, n);
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode) {
  TENON_CHECK(x1.dim() >= 2 && x2.dim() >= 2, ValueError,
              "cdist: only supports at least 2D tensors, got ", x1.dim(), "D and ", x2.dim(), "D");
  TENON_CHECK(x1.size(-1) == x2.size(-1), ValueError,
              "cdist: X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
              " X2: ", x2.size(-1));
  TENON_CHECK(mode.value_or(0) >= 0 && mode.value_or(0) <= 2, ValueError,
              "cdist: possible modes: 0, 1, 2, but was: ", mode.value_or(0));
  const auto batch = common_batch("cdist", x1, x2);
  return tenon::_cdist_forward(with_batch(x1, batch), with_batch(x2, batch), p, mode);
}

// |x1|^2 - 2 x1 x2^T + |x2|^2; what is rounded below zero is zero, and has no gradient.
Tensor _euclidean_dist(const Tensor& x1, const Tensor& x2) {
  const Tensor a = (x1 * x1).sum({-1}, true), b = (x2 * x2).sum({-1}, true);
  const Tensor one = tenon::ones_like(a), other = tenon::ones_like(b);
  const Tensor left = tenon::cat({x1 * -2, a, one}, -1), right = tenon::cat({x2, other, b}, -1);
  const Tensor squares = tenon::matmul(left, right.transpose(-2, -1));
  const Tensor positive = squares > 0;
  const Tensor safe = tenon::where(positive, squares, tenon::ones_like(squares));
  return tenon::where(positive, safe.sqrt(), tenon::zeros_like(squares));
}

}  // namespace tenon::composite
