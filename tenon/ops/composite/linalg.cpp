// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Norms over `norm`, and vector products.
#include <cmath>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/ops/matrices.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using core::text;
using OptDtype = std::optional<ScalarType>;

void check_floating(const char* name, const Tensor& self, const OptDtype& dtype) {
  const ScalarType own = self.scalar_type();
  TENON_CHECK(isFloatingType(own) || isComplexType(own), TypeError, name,
              ": Expected a floating point or complex tensor as input. Got ", toString(own));
  if (!dtype) return;
  TENON_CHECK(isComplexType(*dtype) == isComplexType(own) &&
                  (isFloatingType(*dtype) || isComplexType(*dtype)),
              TypeError, name, ": dtype should be ", isComplexType(own) ? "complex" : "floating",
              " for inputs of that kind, but got ", toString(*dtype));
  TENON_CHECK(tenon::promote_types(own, *dtype) == *dtype, TypeError, name,
              ": the dtype of the input ", toString(own),
              " should be convertible without narrowing to the specified dtype ", toString(*dtype));
}

// What norms are of: the magnitudes of complex numbers, in the dtype that is asked for.
Tensor converted(const Tensor& self, const OptDtype& dtype) {
  const Tensor x = dtype ? self.to(*dtype) : self;
  return x.is_complex() ? x.abs() : x;
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

// The largest of no numbers that are not negative is zero.
Tensor largest_or_least(const Tensor& t, int64_t dim, bool largest, bool keepdim) {
  if (!largest) return tenon::amin(t, {dim}, keepdim);
  return t.size(dim) == 0 ? t.sum({dim}, keepdim) : tenon::amax(t, {dim}, keepdim);
}

// The dimensions of matrices that were reduced, as ones.
Tensor with_kept(const Tensor& t, int64_t rows, int64_t columns, bool keepdim) {
  if (!keepdim) return t;
  return t.unsqueeze(std::min(rows, columns)).unsqueeze(std::max(rows, columns));
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
  return tenon::norm(converted(self, dtype), ord, dim ? *dim : IntArrayRef(), keepdim);
}

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim, bool keepdim,
                          OptDtype dtype) {
  const char* name = "linalg.matrix_norm";
  check_floating(name, self, dtype);
  auto [rows, columns] = matrix_dims(name, self, dim);
  const double p = ord.toDouble(), size = std::abs(p);
  TENON_CHECK(size == 1 || size == 2 || std::isinf(size), ValueError, name, ": Order ", p,
              " not supported.");
  if (size == 2) {
    const Tensor x = dtype ? self.to(*dtype) : self;
    const Tensor values = tenon::linalg_svdvals(tenon::movedim(x, {rows, columns}, {-2, -1}));
    return with_kept(largest_or_least(values, -1, p > 0, false), rows, columns, keepdim);
  }
  if (std::isinf(size)) std::swap(rows, columns);
  // Sums along `rows`, then the extremum of what is left.
  const Tensor sums = tenon::norm(converted(self, dtype), 1, {rows}, true);
  const Tensor extremum = largest_or_least(sums, columns, p > 0, true);
  return keepdim ? extremum
                 : extremum.squeeze(std::max(rows, columns)).squeeze(std::min(rows, columns));
}

Tensor linalg_matrix_norm_str_ord(const Tensor& self, std::string_view ord, IntArrayRef dim,
                                  bool keepdim, OptDtype dtype) {
  const char* name = "linalg.matrix_norm";
  check_floating(name, self, dtype);
  const auto [rows, columns] = matrix_dims(name, self, dim);
  TENON_CHECK(ord == "fro" || ord == "nuc", ValueError, name, ": Order ", ord, " not supported.");
  if (ord == "nuc") {
    const Tensor x = dtype ? self.to(*dtype) : self;
    const Tensor values = tenon::linalg_svdvals(tenon::movedim(x, {rows, columns}, {-2, -1}));
    return with_kept(values.sum({-1}), rows, columns, keepdim);
  }
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

Tensor linalg__powsum(const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim,
                      OptDtype dtype) {
  check_floating("linalg._powsum", self, dtype);
  const double p = ord.toDouble();
  const Tensor size = converted(self, dtype).abs();
  const Tensor terms = p == 0   ? (size != 0).to(size.scalar_type())
                       : p == 1 ? size
                       : p == 2 ? size * size
                                : size.pow(ord);
  return terms.sum(dim ? *dim : IntArrayRef(), keepdim);
}

// Of each slice of `dim`; -1 is one of all elements, and not the last dimension.
Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  if (dim == -1) return tenon::norm(v, pow);
  const int64_t own = wrap("norm_except_dim", dim, v.dim());
  std::vector<int64_t> others;
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (d != own) others.push_back(d);
  }
  return others.empty() ? v.abs() : tenon::norm(v, pow, others, true);
}

Tensor frobenius_norm_dim(const Tensor& self, IntArrayRef dim, bool keepdim) {
  TENON_CHECK(dim.size() <= 2, ValueError,
              "frobenius_norm: Expected at most 2 dimensions, but got ", dim.size(),
              " dimensions instead.");
  return tenon::linalg_vector_norm(self, 2, dim, keepdim);
}

Tensor nuclear_norm(const Tensor& self, bool keepdim) {
  TENON_CHECK(self.dim() >= 2, ValueError,
              "nuclear_norm: Expected a tensor with at least 2 dimensions, but got a tensor with ",
              self.dim(), " dimensions instead.");
  return tenon::linalg_matrix_norm(self, "nuc", {-2, -1}, keepdim);
}
Tensor nuclear_norm_dim(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return tenon::linalg_matrix_norm(self, "nuc", dim, keepdim);
}

namespace {

// Infinite where there is no inverse.
template <class Norm>
Tensor condition(const Tensor& self, const Norm& norm) {
  matrices::check_square("linalg.cond", self);
  auto [inverse, info] = tenon::linalg_inv_ex(self);
  const Tensor product = norm(self) * norm(inverse);
  return tenon::where(info != 0, tenon::full_like(product, INFINITY), product);
}

}  // namespace

Tensor linalg_cond(const Tensor& self, const std::optional<Scalar>& p) {
  const char* name = "linalg.cond";
  matrices::check_inexact(name, self);
  matrices::check_matrices(name, self);
  const double order = p ? p->toDouble() : 2, size = std::abs(order);
  TENON_CHECK(size == 1 || size == 2 || std::isinf(size), ValueError, name,
              ": got an invalid norm type: ", order);
  if (size != 2)
    return condition(self, [&](const Tensor& t) { return tenon::linalg_matrix_norm(t, *p); });
  const Tensor values = tenon::linalg_svdvals(self);
  if (self.numel() == 0)
    return tenon::zeros(matrices::batch_of(self), values.options().requires_grad(std::nullopt));
  const Tensor largest = values.select(-1, 0), smallest = values.select(-1, -1);
  return order > 0 ? largest / smallest : smallest / largest;
}

Tensor linalg_cond_p_str(const Tensor& self, std::string_view p) {
  matrices::check_inexact("linalg.cond", self);
  TENON_CHECK(p == "fro" || p == "nuc", ValueError, "linalg.cond: got an invalid norm type: ", p);
  return condition(self, [&](const Tensor& t) { return tenon::linalg_matrix_norm(t, p); });
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
