// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions, one dimension after the other, and scans.
#include <algorithm>
#include <cmath>

#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

ScalarType sum_dtype(const Tensor& t, std::optional<ScalarType> dtype) {
  return dtype ? *dtype : isFloatingType(t.scalar_type()) ? t.scalar_type() : kLong;
}
Tensor to_operand(const Tensor& t, std::optional<ScalarType> dtype) {
  return as(t, wide(sum_dtype(t, dtype)));
}

Both find_extreme(const Tensor& self, int64_t dim, bool keepdim, int code) {
  const Tensor at = tenon::prim_reduce(self, dim, code), value = self.gather(dim, at);
  if (keepdim || self.dim() == 0) return {value, at};
  return {value.squeeze(dim), at.squeeze(dim)};
}
Tensor index_of_extreme(const Tensor& self, std::optional<int64_t> dim, bool keepdim, int code) {
  if (dim) {
    const Tensor at = tenon::prim_reduce(self, *dim, code);
    return keepdim || self.dim() == 0 ? at : at.squeeze(*dim);
  }
  const Tensor at = tenon::prim_reduce(self.reshape({-1}), 0, code);
  return at.reshape(std::vector<int64_t>(keepdim ? static_cast<std::size_t>(self.dim()) : 0, 1));
}
Tensor reduce_logic(const Tensor& self, OptionalIntArrayRef dims, bool keepdim, int code) {
  // An empty list of `any.dims` means all, as none does.
  return reduced(self, dims_of(dims, self.dim()), keepdim, code);
}
Tensor reduce_logic(const Tensor& self, int64_t dim, bool keepdim, int code) {
  return reduced(self, {wrapped(dim, self.dim())}, keepdim, code);
}

struct Moments {
  Tensor var, mean;
};
Moments moments(const Tensor& self, OptionalIntArrayRef dim,
                const std::optional<Scalar>& correction, bool keepdim) {
  const std::vector<int64_t> dims = dims_of(dim, self.dim());
  const Tensor x = wide(self);
  const double n = static_cast<double>(count_of(self, dims)),
               taken = correction ? correction->toDouble() : 1;
  const Tensor mean = summed(x, dims, true) / n, off = x - mean;
  const Tensor var = summed(off * off, dims, keepdim) / std::max(0.0, n - taken);
  return {var, keepdim ? mean : mean.reshape(var.sizes())};
}

}  // namespace

Tensor sum_dim_IntList(const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
                       std::optional<ScalarType> dtype) {
  return summed(to_operand(self, dtype), dims_of(dim, self.dim()), keepdim);
}
Tensor mean_dim(const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
                std::optional<ScalarType> dtype) {
  const std::vector<int64_t> dims = dims_of(dim, self.dim());
  return summed(to_operand(self, dtype), dims, keepdim) / static_cast<double>(count_of(self, dims));
}
Tensor prod(const Tensor& self, std::optional<ScalarType> dtype) {
  return reduced(to_operand(self, dtype), dims_of(std::nullopt, self.dim()), false, TN_REDUCE_PROD);
}
Tensor prod_dim_int(const Tensor& self, int64_t dim, bool keepdim,
                    std::optional<ScalarType> dtype) {
  return reduced(to_operand(self, dtype), {wrapped(dim, self.dim())}, keepdim, TN_REDUCE_PROD);
}
Tensor amax(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return reduced(self, dims_of(dim, self.dim()), keepdim, TN_REDUCE_MAX);
}
Tensor amin(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return reduced(self, dims_of(dim, self.dim()), keepdim, TN_REDUCE_MIN);
}
Tensor max(const Tensor& self) { return decomp::amax(self, {}, false); }
Tensor min(const Tensor& self) { return decomp::amin(self, {}, false); }
Both max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return find_extreme(self, dim, keepdim, TN_REDUCE_ARGMAX);
}
Both min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return find_extreme(self, dim, keepdim, TN_REDUCE_ARGMIN);
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return index_of_extreme(self, dim, keepdim, TN_REDUCE_ARGMAX);
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return index_of_extreme(self, dim, keepdim, TN_REDUCE_ARGMIN);
}
Tensor all(const Tensor& self) { return reduce_logic(self, std::nullopt, false, TN_REDUCE_ALL); }
Tensor any(const Tensor& self) { return reduce_logic(self, std::nullopt, false, TN_REDUCE_ANY); }
Tensor all_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return reduce_logic(self, dim, keepdim, TN_REDUCE_ALL);
}
Tensor any_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return reduce_logic(self, dim, keepdim, TN_REDUCE_ANY);
}
Tensor all_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return reduce_logic(self, dim, keepdim, TN_REDUCE_ALL);
}
Tensor any_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return reduce_logic(self, dim, keepdim, TN_REDUCE_ANY);
}

Both var_mean_correction(const Tensor& self, OptionalIntArrayRef dim,
                         const std::optional<Scalar>& correction, bool keepdim) {
  const Moments m = moments(self, dim, correction, keepdim);
  return {m.var, m.mean};
}
Tensor var_correction(const Tensor& self, OptionalIntArrayRef dim,
                      const std::optional<Scalar>& correction, bool keepdim) {
  return moments(self, dim, correction, keepdim).var;
}

Tensor norm_ScalarOpt_dim(const Tensor& self, const std::optional<Scalar>& order, IntArrayRef dim,
                          bool keepdim) {
  const std::vector<int64_t> dims = dims_of(dim, self.dim());
  const double p = order ? order->toDouble() : 2;
  const Tensor x = wide(self).abs();
  if (p == 2) return summed(x * x, dims, keepdim).sqrt();
  if (p == 1) return summed(x, dims, keepdim);
  if (p == 0) return summed(as(x.ne(0), x.scalar_type()), dims, keepdim);
  if (std::isinf(p)) return reduced(x, dims, keepdim, p > 0 ? TN_REDUCE_MAX : TN_REDUCE_MIN);
  return summed(x.pow(p), dims, keepdim).pow(1 / p);
}

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return tenon::prim_scan(to_operand(self, dtype), dim, TN_REDUCE_SUM);
}
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return tenon::prim_scan(to_operand(self, dtype), dim, TN_REDUCE_PROD);
}

// Each step joins runs twice as long.
Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  Tensor out = wide(self);
  const int64_t n = size_of(self, dim);
  for (int64_t step = 1; self.dim() > 0 && step < n; step *= 2) {
    const Tensor later = out.narrow(dim, step, n - step), earlier = out.narrow(dim, 0, n - step);
    out = tenon::cat({out.narrow(dim, 0, step), logaddexp(later, earlier)}, dim);
  }
  return out;
}

namespace {

// Where the extreme so far is met again, or met by NaN, its place is a new one; places only grow.
Both find_records(const Tensor& self, int64_t dim, int code) {
  if (self.dim() == 0) return {self, as(self.ne(self), kLong) * 0};
  const Tensor values = tenon::prim_scan(self, dim, code),
               met = self.eq(values).logical_or(self.isnan());
  const Tensor at =
      index_like(positions(self.size(dim), self), wrapped(dim, self.dim()), self.sizes());
  return {values, tenon::prim_scan(tenon::where(met, at, scalar_like(0, at)), dim, TN_REDUCE_MAX)};
}

}  // namespace

Both cummax(const Tensor& self, int64_t dim) { return find_records(self, dim, TN_REDUCE_MAX); }
Both cummin(const Tensor& self, int64_t dim) { return find_records(self, dim, TN_REDUCE_MIN); }

}  // namespace tenon::decomp
