// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/reduce.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tenon/autograd/formulas/layout.h"
#include "tenon/autograd/formulas/pointwise.h"

namespace tenon::autograd::formulas {
namespace {

std::vector<bool> reduced_dims(int64_t ndim, OptionalIntArrayRef dims) {
  const bool all = !dims || dims->empty();
  std::vector<bool> mask(static_cast<std::size_t>(ndim), all);
  if (all || ndim == 0) return mask;
  for (int64_t d : *dims) mask[static_cast<std::size_t>(d < 0 ? d + ndim : d)] = true;
  return mask;
}

// Puts the reduced dimensions back, as ones.
Tensor restore_dims(Tensor t, int64_t ndim, OptionalIntArrayRef dims, bool keepdim) {
  if (keepdim || ndim == 0) return t;
  const std::vector<bool> mask = reduced_dims(ndim, dims);
  for (int64_t d = 0; d < ndim; ++d) {
    if (mask[static_cast<std::size_t>(d)]) t = t.unsqueeze(d);
  }
  return t;
}

double reduced_count(IntArrayRef sizes, OptionalIntArrayRef dims) {
  const std::vector<bool> mask = reduced_dims(static_cast<int64_t>(sizes.size()), dims);
  double n = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (mask[d]) n *= static_cast<double>(sizes[d]);
  }
  return n;
}

int64_t dims_of(IntArrayRef sizes) { return static_cast<int64_t>(sizes.size()); }

}  // namespace

Tensor sum_backward(const Tensor& grad, const SavedGeometry& of, OptionalIntArrayRef dims,
                    bool keepdim) {
  return at_elements(restore_dims(grad.to_dense(), of.dim(), dims, keepdim).expand(of.sizes()), of);
}

Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dims,
                     bool keepdim) {
  return restore_dims(grad / reduced_count(sizes, dims), dims_of(sizes), dims, keepdim)
      .expand(sizes);
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (self.dim() == 0) return grad;
  return prod_dim_backward(grad, self.reshape({-1}), result, 0, false).reshape(self.sizes());
}

Tensor prod_dim_backward(const Tensor& grad, const Tensor& self, const Tensor&, int64_t dim,
                         bool keepdim) {
  if (self.dim() == 0) return grad;
  const int64_t n = self.size(dim);
  if (n == 0) return zeros_like(self);
  const Tensor back = keepdim ? grad : grad.unsqueeze(dim);
  const Tensor one = ones_like(self.narrow(dim, 0, 1));
  const Tensor left = cat({one, self.narrow(dim, 0, n - 1)}, dim).cumprod(dim);
  const Tensor right =
      cat({one, self.narrow(dim, 1, n - 1).flip({dim})}, dim).cumprod(dim).flip({dim});
  return back * conjugated(left * right);
}

Tensor amax_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                     OptionalIntArrayRef dims, bool keepdim) {
  const Tensor top = restore_dims(result, self.dim(), dims, keepdim);
  // Where there is a NaN it is the extremum, and those share.
  const Tensor mask = logical_or(self == top, self != self).to(grad.scalar_type());
  return restore_dims(grad, self.dim(), dims, keepdim) * mask / sum(mask, dims, true);
}

Tensor index_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& indices, int64_t dim,
                      bool keepdim) {
  if (sizes.empty()) return grad;
  const Tensor g = keepdim ? grad : grad.unsqueeze(dim),
               i = keepdim ? indices : indices.unsqueeze(dim);
  return zeros(sizes, grad.options()).scatter(dim, i, g);
}

Tensor var_backward(const Tensor& grad, const Tensor& self, OptionalIntArrayRef dims,
                    const std::optional<Scalar>& correction, bool keepdim) {
  const double n = reduced_count(self.sizes(), dims) - (correction ? correction->toDouble() : 1.0);
  const Tensor centered = self - mean(self, dims, true);
  return restore_dims(grad, self.dim(), dims, keepdim) * (centered * (2.0 / n));
}

Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self,
                         OptionalIntArrayRef dims, const std::optional<Scalar>& correction,
                         bool keepdim) {
  Tensor total;
  if (grad_var.defined()) total = var_backward(grad_var, self, dims, correction, keepdim);
  if (grad_mean.defined()) {
    const Tensor g = mean_backward(grad_mean, self.sizes(), dims, keepdim);
    total = total.defined() ? total + g : g;
  }
  return total;
}

namespace {

// By an element, for 0 < order < inf; g and r are the gradient and the norm that it is part of.
Tensor norm_slope(double order, const Tensor& self, const Tensor& g, const Tensor& r) {
  if (order == 1) return self.sign() * g;
  if (order == 2) return self * where(r == 0, 0, g / r);
  const Tensor size = self.abs();
  const Tensor slope = order < 2 ? self.sign() * where(self == 0, 0, size.pow(order - 1))
                                 : self * where(self == 0, 0, size.pow(order - 2));
  return slope * where(r == 0, 0, g / r.pow(order - 1));
}

// Of a tensor with a layout of its own, by its values.
Tensor norm_backward_of_values(const Tensor& grad, const Tensor& self, double order,
                               const Tensor& result, OptionalIntArrayRef dims, bool keepdim) {
  const Tensor sums = self.coalesce(), v = sums.values();
  const auto each = [&](const Tensor& t, bool kept) {
    return _values_at(restore_dims(t.to_dense(), self.dim(), dims, kept).expand(self.sizes()),
                      sums._indices());
  };
  const Tensor g = each(grad, keepdim), r = each(result, keepdim);
  if (!std::isinf(order)) return _with_values(sums, norm_slope(order, v, g, r));
  const Tensor mask = (v.abs() == r).to(v.scalar_type()), extreme = _with_values(sums, mask);
  return _with_values(sums, v.sign() * (mask / each(sum(extreme, dims, false), false) * g));
}

}  // namespace

Tensor norm_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& p,
                     const Tensor& result, OptionalIntArrayRef dims, bool keepdim) {
  const double order = p ? p->toDouble() : 2.0;
  if (order == 0) return Tensor();
  if (self.is_complex())
    return norm_backward(grad, self.abs(), p, result, dims, keepdim) * tenon::sgn(self);
  if (self.layout() != kStrided)
    return norm_backward_of_values(grad, self, order, result, dims, keepdim);
  const Tensor g = restore_dims(grad, self.dim(), dims, keepdim),
               r = restore_dims(result, self.dim(), dims, keepdim);
  if (!std::isinf(order)) return norm_slope(order, self, g, r);
  const Tensor mask = (self.abs() == r).to(self.scalar_type());
  return self.sign() * (mask / sum(mask, dims, true) * g);
}

Tensor reversed_cumsum(const Tensor& grad, int64_t dim) {
  return grad.dim() == 0 ? grad : grad.flip({dim}).cumsum(dim).flip({dim});
}

namespace {

// t[k] = b[k] + a[k] * t[k + 1] along dim, where a ends in 0. Takes log2(length) rounds, each of
// which combines twice as many elements as the one before.
Tensor reversed_recurrence(Tensor a, Tensor b, int64_t dim) {
  const int64_t n = b.size(dim);
  for (int64_t step = 1; step < n; step *= 2) {
    const auto ahead = [&](const Tensor& t) {
      return cat({t.narrow(dim, step, n - step), zeros_like(t.narrow(dim, 0, step))}, dim);
    };
    b = b + a * ahead(b);
    if (2 * step < n) a = a * ahead(a);
  }
  return b;
}

// Without a quotient: the product of all before an element, times the sum of g[j] times the product
// of those between. Its gradient is right at zeros, too.
Tensor cumprod_backward_of_products(const Tensor& grad, const Tensor& self, int64_t dim) {
  const int64_t n = self.size(dim);
  const Tensor first = self.narrow(dim, 0, 1);
  const Tensor before = cat({ones_like(first), self.narrow(dim, 0, n - 1)}, dim).cumprod(dim);
  const Tensor next = cat({self.narrow(dim, 1, n - 1), zeros_like(first)}, dim);
  return conjugated(before) * reversed_recurrence(conjugated(next), grad, dim);
}

}  // namespace

// Up to the first zero the quotient of sums; at it, the products that leave it out; after it zero.
Tensor cumprod_backward(const Tensor& grad, const Tensor& given, int64_t dim,
                        const Tensor& result) {
  const ScalarType t = given.scalar_type();
  if (given.dim() == 0 || given.numel() == 0) return grad.to(t);
  const Tensor self = given.to(result.scalar_type());
  const bool differentiated_again =
      GradMode::is_enabled() && (grad.requires_grad() || self.requires_grad());
  if (differentiated_again && (self == 0).any().item<bool>())
    return cumprod_backward_of_products(grad, self, dim).to(t);
  const Tensor zero = self == 0, seen = zero.cumsum(dim);
  const Tensor first = logical_and(zero, seen == 1);
  const Tensor without = where(first, 1, self).cumprod(dim);
  const Tensor before =
      reversed_cumsum(grad * conjugated(result), dim) / conjugated(where(zero, 1, self));
  const Tensor at_zero = where(first, reversed_cumsum(grad * conjugated(without), dim), 0);
  return where(seen == 0, before, at_zero).to(t);
}

// Of element i the sum of g[j] exp(self[i] - result[j]) over j >= i. The results only grow, so that
// no factor is greater than 1.
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                             int64_t dim) {
  if (self.dim() == 0 || self.numel() == 0) return grad;
  const int64_t n = self.size(dim);
  const Tensor here = result.narrow(dim, 0, n - 1), next = result.narrow(dim, 1, n - 1);
  const Tensor fall =
      conjugated(where(here == next, 0, here - next).exp());  // also where both are infinite
  const Tensor sums =
      reversed_recurrence(cat({fall, zeros_like(result.narrow(dim, 0, 1))}, dim), grad, dim);
  // The share of each of two infinities is undefined; other elements are not affected.
  const Tensor share = self - result, unknown = isnan(share);
  return where(unknown, std::numeric_limits<double>::quiet_NaN(),
               conjugated(where(unknown, 0, share).exp()) * sums);
}

Tensor cummax_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& indices, int64_t dim) {
  if (sizes.empty()) return grad;
  return zeros(sizes, grad.options()).scatter_add(dim, indices, grad);
}

}  // namespace tenon::autograd::formulas
