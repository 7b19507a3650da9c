// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions that are compositions of others. An absent or empty list of dimensions means all of
// them.
#include <cmath>
#include <numeric>
#include <vector>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

namespace {

Tensor zero_nans(const Tensor& self) { return tenon::where(tenon::isnan(self), 0, self); }

std::optional<Scalar> correction_of(bool unbiased) { return Scalar(unbiased ? 1 : 0); }

// Of a variance. Where all elements are equal its slope is taken as 0, not as infinite.
Tensor root_of_variance(const Tensor& var) {
  if (!GradMode::is_enabled() || !var.requires_grad()) return tenon::sqrt(var);
  const Tensor flat = var == 0;
  return tenon::where(flat, 0, tenon::sqrt(tenon::where(flat, 1, var)));
}

// The root is taken before the variance is rounded, which may not fit into 16 bits.
Tensor standard_deviation(const Tensor& self, OptionalIntArrayRef dim,
                          const std::optional<Scalar>& correction, bool keepdim) {
  return rounded(root_of_variance(tenon::var(wide(self), dim, correction, keepdim)), self);
}
std::tuple<Tensor, Tensor> deviation_and_mean(const Tensor& self, OptionalIntArrayRef dim,
                                              const std::optional<Scalar>& correction,
                                              bool keepdim) {
  const auto [var, mean] = tenon::var_mean(wide(self), dim, correction, keepdim);
  return {rounded(root_of_variance(var), self), rounded(mean, self)};
}

// Of int64, in halves; the dimension keeps one element.
Tensor exclusive_or(Tensor bits, int64_t dim) {
  for (int64_t n = bits.size(dim); n > 1; n = bits.size(dim)) {
    const int64_t half = n / 2, kept = n - half;
    Tensor front = bits.narrow(dim, 0, kept).clone();
    front.narrow(dim, 0, half).bitwise_xor_(bits.narrow(dim, kept, half));
    bits = front;
  }
  return bits;
}

}  // namespace

Tensor hash_tensor(const Tensor& self, IntArrayRef dim, bool keepdim, int64_t mode) {
  TENON_CHECK(mode == 0, ValueError, "hash_tensor: Unknown hash_tensor mode: ", mode);
  std::vector<int64_t> all(dim.empty() ? static_cast<std::size_t>(self.dim()) : 0);
  std::iota(all.begin(), all.end(), 0);
  const auto dims = distinct_dims("hash_tensor", dim.empty() ? IntArrayRef(all) : dim, self.dim());
  const Tensor plain = self.detach();
  Tensor bits = plain.is_floating_point() ? plain.to(kDouble).view(kLong) : plain.to(kLong);
  for (const int64_t d : self.dim() == 0 ? std::vector<int64_t>() : dims) {
    TENON_CHECK(self.size(d) > 0, IndexError, "hash_tensor: Expected reduction dim ", d,
                " to have non-zero size.");
    bits = exclusive_or(bits, d);
  }
  if (!keepdim && self.dim() > 0) bits = bits.squeeze(dims);
  return bits.view(kUInt64);
}

Tensor sum(const Tensor& self, std::optional<ScalarType> dtype) {
  return tenon::sum(self, OptionalIntArrayRef(), false, dtype);
}
Tensor nansum(const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
              std::optional<ScalarType> dtype) {
  return tenon::sum(isFloatingType(self.scalar_type()) ? zero_nans(self) : self, dim, keepdim,
                    dtype);
}
Tensor mean(const Tensor& self, std::optional<ScalarType> dtype) {
  return tenon::mean(self, OptionalIntArrayRef(), false, dtype);
}
Tensor nanmean(const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
               std::optional<ScalarType> dtype) {
  const Tensor count = tenon::sum(tenon::logical_not(tenon::isnan(self.detach())), dim, keepdim);
  const Tensor mean = tenon::nansum(dtype ? self : wide(self), dim, keepdim, dtype) / count;
  return dtype ? mean : rounded(mean, self);
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (!dim) {
    if (keepdim) {
      const std::vector<int64_t> ones(static_cast<std::size_t>(self.dim()), 1);
      return {tenon::amin(self).reshape(ones), tenon::amax(self).reshape(ones)};
    }
    return {tenon::amin(self), tenon::amax(self)};
  }
  const int64_t d = *dim;
  return {tenon::amin(self, d, keepdim), tenon::amax(self, d, keepdim)};
}
Tensor max_other(const Tensor& self, const Tensor& other) { return tenon::maximum(self, other); }
Tensor min_other(const Tensor& self, const Tensor& other) { return tenon::minimum(self, other); }

Tensor std_correction(const Tensor& self, OptionalIntArrayRef dim,
                      const std::optional<Scalar>& correction, bool keepdim) {
  return standard_deviation(self, dim, correction, keepdim);
}
std::tuple<Tensor, Tensor> std_mean_correction(const Tensor& self, OptionalIntArrayRef dim,
                                               const std::optional<Scalar>& correction,
                                               bool keepdim) {
  return deviation_and_mean(self, dim, correction, keepdim);
}

Tensor var(const Tensor& self, bool unbiased) {
  return tenon::var(self, OptionalIntArrayRef(), correction_of(unbiased), false);
}
Tensor var_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return tenon::var(self, dim, correction_of(unbiased), keepdim);
}
Tensor std(const Tensor& self, bool unbiased) {
  return standard_deviation(self, OptionalIntArrayRef(), correction_of(unbiased), false);
}
Tensor std_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return standard_deviation(self, dim, correction_of(unbiased), keepdim);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased) {
  return tenon::var_mean(self, OptionalIntArrayRef(), correction_of(unbiased), false);
}
std::tuple<Tensor, Tensor> var_mean_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased,
                                        bool keepdim) {
  return tenon::var_mean(self, dim, correction_of(unbiased), keepdim);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased) {
  return deviation_and_mean(self, OptionalIntArrayRef(), correction_of(unbiased), false);
}
std::tuple<Tensor, Tensor> std_mean_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased,
                                        bool keepdim) {
  return deviation_and_mean(self, dim, correction_of(unbiased), keepdim);
}

Tensor norm_Scalar(const Tensor& self, const Scalar& p) {
  return tenon::norm(self, p, IntArrayRef(), false);
}
Tensor norm_ScalarOpt_dtype(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return tenon::norm(self.to(dtype), p, IntArrayRef(), false);
}
Tensor norm_ScalarOpt_dim_dtype(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim,
                                bool keepdim, ScalarType dtype) {
  return tenon::norm(self.to(dtype), p, dim, keepdim);
}
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return rounded(tenon::norm(wide(self) - wide(other), p), self, other);
}

// The largest element is subtracted first, unless it is infinite.
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim) {
  if (is_short_float(self.scalar_type()))
    return rounded(composite::logsumexp(wide(self), dim, keepdim), self);
  const bool inexact = isFloatingType(self.scalar_type()) || self.is_complex();
  const Tensor x = inexact ? self : self.to(get_default_dtype());
  if (x.numel() == 0) return tenon::log(tenon::sum(tenon::exp(x), dim, keepdim));
  Tensor top = tenon::amax(tenon::real(x.detach()), dim, true);
  top = tenon::where(tenon::isinf(top), 0, top);
  const Tensor log_sum = tenon::log(tenon::sum(tenon::exp(x - top), dim, true)) + top;
  if (keepdim) return log_sum;
  std::vector<int64_t> sizes;
  std::vector<bool> gone(static_cast<std::size_t>(x.dim()), dim.empty());
  for (int64_t d : dim) {
    if (x.dim() > 0) gone[static_cast<std::size_t>(d < 0 ? d + x.dim() : d)] = true;
  }
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (!gone[static_cast<std::size_t>(d)]) sizes.push_back(x.size(d));
  }
  return log_sum.reshape(sizes);
}

Tensor count_nonzero_dim_IntList(const Tensor& self, IntArrayRef dim) {
  return tenon::sum(self != 0, dim);
}
Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  return dim ? tenon::sum(self != 0, IntArrayRef(*dim)) : tenon::sum(self != 0);
}

namespace {

// The lower of two middle elements. NaN is the largest: unless it is ignored, one NaN makes the
// result NaN.
std::tuple<Tensor, Tensor> median_along(const char* name, const Tensor& self, int64_t dim,
                                        bool keepdim, bool ignore_nan) {
  wrap(name, dim, self.dim());
  if (self.dim() == 0)
    return {self.clone(), tenon::zeros({}, self.options().dtype(kLong).requires_grad(false))};
  const int64_t n = self.size(dim);
  TENON_CHECK(n > 0, IndexError, name, ": Expected reduction dim ", dim, " to have non-zero size.");
  auto [sorted, order] = tenon::sort(self.detach(), true, dim, false);
  Tensor at;
  if (isFloatingType(self.scalar_type())) {
    const Tensor nans = tenon::sum(tenon::isnan(self.detach()), IntArrayRef(dim), true);
    if (ignore_nan)
      at = tenon::clamp_min(tenon::floor_divide(tenon::rsub(nans, n - 1), 2), 0);
    else
      at = tenon::where(nans > 0, n - nans, (n - 1) / 2);
  } else {
    std::vector<int64_t> shape(self.sizes().begin(), self.sizes().end());
    shape[static_cast<std::size_t>(dim < 0 ? dim + self.dim() : dim)] = 1;
    at = tenon::full(shape, (n - 1) / 2, self.options().dtype(kLong).requires_grad(false));
  }
  const Tensor index = tenon::gather(order, dim, at);
  const Tensor value = tenon::gather(self, dim, index);
  return keepdim ? std::make_tuple(value, index)
                 : std::make_tuple(value.squeeze(dim), index.squeeze(dim));
}

Tensor median_of_all(const char* name, const Tensor& self, bool ignore_nan) {
  if (self.numel() == 0) {
    TENON_CHECK(isFloatingType(self.scalar_type()), ValueError, name,
                ": an empty tensor has no median in ", dtype_name(self.scalar_type()),
                ", which has no NaN; got shape ", self.sizes());
    return tenon::full({}, NAN, self.options().requires_grad(std::nullopt));
  }
  const Tensor flat = self.reshape({-1}),
               value = std::get<0>(median_along(name, flat, 0, false, ignore_nan));
  if (!GradMode::is_enabled() || !self.requires_grad()) return value;
  // Equal elements share the gradient.
  const Tensor same =
      tenon::logical_or(flat == value, tenon::isnan(flat).logical_and(tenon::isnan(value)));
  return tenon::amax(tenon::masked_select(flat, same));
}

}  // namespace

Tensor median(const Tensor& self) { return median_of_all("median", self, false); }
Tensor nanmedian(const Tensor& self) { return median_of_all("nanmedian", self, true); }
std::tuple<Tensor, Tensor> median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return median_along("median", self, dim, keepdim, false);
}
std::tuple<Tensor, Tensor> nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return median_along("nanmedian", self, dim, keepdim, true);
}

Tensor trace(const Tensor& self) {
  TENON_CHECK(self.dim() == 2, ValueError, "trace: expected a matrix, but got tensor with dim ",
              self.dim());
  return tenon::sum(self.diagonal());
}

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const std::optional<Tensor>& prepend,
            const std::optional<Tensor>& append) {
  TENON_CHECK(self.dim() >= 1, ValueError, "diff: expects input to be at least one-dimensional");
  TENON_CHECK(n >= 0, ValueError, "diff: order must be non-negative but got ", n);
  if (n == 0) return self.clone();
  std::vector<Tensor> parts;
  if (prepend) parts.push_back(*prepend);
  parts.push_back(self);
  if (append) parts.push_back(*append);
  Tensor x = parts.size() > 1 ? tenon::cat(parts, dim) : self;
  for (int64_t k = 0; k < n && x.size(dim) > 0; ++k) {
    const int64_t m = x.size(dim) - 1;
    const Tensor high = x.narrow(dim, 1, m), low = x.narrow(dim, 0, m);
    x = x.scalar_type() == kBool ? tenon::logical_xor(high, low) : high - low;
  }
  return x;
}

}  // namespace tenon::composite
