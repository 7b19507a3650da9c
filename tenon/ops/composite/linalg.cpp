// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Norms over `norm`, and vector products.
#include <cmath>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using core::text;
using OptDtype = std::optional<ScalarType>;

void check_floating(const char* name, const Tensor& self, const OptDtype& dtype) {
  const auto inexact = [](ScalarType t) { return isFloatingType(t) || isComplexType(t); };
  TENON_CHECK(inexact(self.scalar_type()), TypeError, name,
              ": Expected a floating point or complex tensor as input. Got ",
              toString(self.scalar_type()));
  TENON_CHECK(!dtype || inexact(*dtype), TypeError, name,
              ": dtype should be floating point or complex. Got ",
              dtype ? toString(*dtype) : "none");
  TENON_CHECK(!dtype || !self.is_complex() || isComplexType(*dtype), TypeError, name,
              ": dtype should be complex for complex inputs. Got ",
              dtype ? toString(*dtype) : "none");
}

// The two dimensions of matrices, counted from the start.
std::pair<int64_t, int64_t> matrix_dims(const char* name, const Tensor& self, IntArrayRef dim) {
  const int64_t rank = self.dim();
  TENON_CHECK(rank >= 2, ValueError, name, ": The input tensor A must have at least 2 dimensions.");
  TENON_CHECK(dim.size() == 2, ValueError, name, ": dim must be a 2-tuple. Got ", dim);
  const int64_t a = wrap(name, dim[0], rank), b = wrap(name, dim[1], rank);
  TENON_CHECK(a != b, ValueError, name, ": dims must be different. Got (", dim[0], ", ", dim[1],
              ")");
  return {a, b};
}

int64_t dim_of_three(const Tensor& self) {
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.size(d) == 3) return d;
  }
  throw ValueError(core::join("linalg.cross: no dimension of size 3 in input ", self.sizes()));
}

}  // namespace

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim,
                          bool keepdim, OptDtype dtype) {
  check_floating("linalg.vector_norm", self, dtype);
  const Tensor x = dtype ? self.to(*dtype) : self;
  return tenon::norm(x, ord, dim ? *dim : IntArrayRef(), keepdim);
}

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim, bool keepdim,
                          OptDtype dtype) {
  const char* name = "linalg.matrix_norm";
  check_floating(name, self, dtype);
  auto [rows, columns] = matrix_dims(name, self, dim);
  const double p = ord.toDouble(), size = std::abs(p);
  TENON_CHECK(size == 1 || size == 2 || std::isinf(size), ValueError, name, ": Order ", p,
              " not supported.");
  TENON_CHECK(size != 2, NotImplementedError, name, ": order ", p,
              " needs singular values, for which there is no operator yet");
  if (std::isinf(size)) std::swap(rows, columns);
  // Sums along `rows`, then the extremum of what is left.
  const Tensor x = dtype ? self.to(*dtype) : self, sums = tenon::norm(x, 1, {rows}, true);
  const Tensor extremum =
      p > 0 ? tenon::amax(sums, {columns}, true) : tenon::amin(sums, {columns}, true);
  return keepdim ? extremum
                 : extremum.squeeze(std::max(rows, columns)).squeeze(std::min(rows, columns));
}

Tensor linalg_matrix_norm_str_ord(const Tensor& self, std::string_view ord, IntArrayRef dim,
                                  bool keepdim, OptDtype dtype) {
  const char* name = "linalg.matrix_norm";
  check_floating(name, self, dtype);
  const auto [rows, columns] = matrix_dims(name, self, dim);
  TENON_CHECK(ord == "fro" || ord == "nuc", ValueError, name, ": Order ", ord, " not supported.");
  TENON_CHECK(ord == "fro", NotImplementedError, name,
              ": order nuc needs singular values, for which there is no operator yet");
  return tenon::linalg_vector_norm(self, 2, IntArrayRef({rows, columns}), keepdim, dtype);
}

Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord, OptionalIntArrayRef dim,
                   bool keepdim, OptDtype dtype) {
  TENON_CHECK(!dim || dim->size() == 1 || dim->size() == 2, ValueError,
              "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ",
              dim ? text(*dim) : "");
  TENON_CHECK(dim || !ord || self.dim() == 1 || self.dim() == 2, ValueError,
              "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
              self.dim(), "D.");
  const bool matrices = ord && (dim ? dim->size() == 2 : self.dim() == 2);
  if (!matrices)
    return tenon::linalg_vector_norm(self, ord ? *ord : Scalar(2), dim, keepdim, dtype);
  return tenon::linalg_matrix_norm(self, *ord, dim ? *dim : IntArrayRef({0, 1}), keepdim, dtype);
}

Tensor linalg_norm_ord_str(const Tensor& self, std::string_view ord, OptionalIntArrayRef dim,
                           bool keepdim, OptDtype dtype) {
  TENON_CHECK(!dim || dim->size() == 1 || dim->size() == 2, ValueError,
              "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ",
              dim ? text(*dim) : "");
  TENON_CHECK(dim || self.dim() == 1 || self.dim() == 2, ValueError,
              "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
              self.dim(), "D.");
  return tenon::linalg_matrix_norm(self, ord, dim ? *dim : IntArrayRef({0, 1}), keepdim, dtype);
}

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  TENON_CHECK(self.dim() == other.dim(), ValueError,
              "linalg.cross: inputs must have the same number of dimensions, got ", self.dim(),
              " and ", other.dim());
  TENON_CHECK(self.size(dim) == 3 && other.size(dim) == 3, ValueError,
              "linalg.cross: inputs dimension ", dim, " must have length 3. Got ", self.size(dim),
              " and ", other.size(dim));
  const auto a = wide(self).split(1, dim), b = wide(other).split(1, dim);
  const Tensor product = tenon::cat(
      {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}, dim);
  return rounded(product, self, other);
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  return tenon::linalg_cross(self, other, dim ? *dim : dim_of_three(self));
}

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  TENON_CHECK(p.toDouble() > 0, ValueError, "renorm: non-positive-norm not supported, got ",
              p.toDouble());
  TENON_CHECK(maxnorm.toDouble() >= 0, ValueError, "renorm: expected maxnorm to be >= 0 but got ",
              maxnorm.toDouble());
  const int64_t rank = self.dim();
  TENON_CHECK(rank > 1, ValueError, "renorm: input needs at least 2 dimensions, got ", rank,
              " dimensions");
  const int64_t own = wrap("renorm", dim, rank);
  std::vector<int64_t> others;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != own) others.push_back(d);
  }
  const Tensor length = tenon::linalg_vector_norm(wide(self), p, others, true);
  // Slightly below the limit, so that rounding does not exceed it.
  const Tensor factor = tenon::where(length > maxnorm, maxnorm / (length + 1e-7), 1);
  return rounded(wide(self) * factor, self);
}

}  // namespace tenon::composite
