// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Filling, copying, and tensors computed from positions.
#include <cmath>

#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {

Tensor fill_Tensor(const Tensor& self, const Tensor& value) { return value.expand(self.sizes()); }
Tensor zero(const Tensor& self) { return tenon::fill(self, 0); }
// core copies what is returned into an output of the format asked for.
Tensor clone(const Tensor& self, std::optional<MemoryFormat>) { return self; }

Tensor flip(const Tensor& self, IntArrayRef dims) {
  Tensor out = self;
  for (int64_t d : dims) {
    const int64_t n = size_of(self, d);
    if (self.dim() > 0)
      out = gather_slices(out, wrapped(d, self.dim()), positions(n, self).neg() + (n - 1));
  }
  return out;
}

namespace {

Tensor position_column(int64_t n, const Tensor& like) { return positions(n, like).unsqueeze(1); }

// Symmetrical: the second half counts from the end.
Tensor evenly_spaced(double start, double end, int64_t n, const TensorOptions& options,
                     ScalarType t) {
  const Tensor i = arange(n, options.dtype(kLong)), from_end = (n - 1) - i;
  const double step = n > 1 ? (end - start) / static_cast<double>(n - 1) : 0;
  const Tensor up = as(i, t) * step + start, down = as(from_end, t) * -step + end;
  return n == 1 ? up : tenon::where(i < n / 2, up, down);
}

ScalarType dtype_of(const TensorOptions& o) {
  return o.has_dtype() ? o.dtype() : get_default_dtype();
}
double end_of(const Scalar& v, ScalarType t) {
  return isFloatingType(t) ? v.toDouble() : static_cast<double>(v.toLong());
}

}  // namespace

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                const TensorOptions& options) {
  const ScalarType t = dtype_of(options), c = t == kDouble || !isFloatingType(t) ? kDouble : kFloat;
  return evenly_spaced(end_of(start, t), end_of(end, t), steps, options.requires_grad(std::nullopt),
                       c);
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                const TensorOptions& options) {
  const ScalarType t = dtype_of(options);
  return tenon::pow(base, evenly_spaced(end_of(start, t), end_of(end, t), steps,
                                        options.requires_grad(std::nullopt), kDouble));
}

Tensor eye_m(int64_t n, int64_t m, const TensorOptions& options) {
  const TensorOptions index = options.requires_grad(std::nullopt).dtype(kLong);
  return arange(n, index).unsqueeze(1).eq(arange(m, index));
}

Tensor tril(const Tensor& self, int64_t diagonal) {
  const Tensor kept =
      positions(self.size(-1), self) - position_column(self.size(-2), self) <= diagonal;
  return tenon::where(kept, self, scalar_like(0, self));
}
Tensor triu(const Tensor& self, int64_t diagonal) {
  const Tensor kept =
      positions(self.size(-1), self) - position_column(self.size(-2), self) >= diagonal;
  return tenon::where(kept, self, scalar_like(0, self));
}

Tensor cat(TensorList tensors, int64_t dim) {
  const auto counts = [](const Tensor& t) { return !(t.dim() == 1 && t.size(0) == 0); };
  std::vector<int64_t> sizes{0};
  ScalarType dtype = tensors[0].scalar_type();
  int64_t total = 0;
  for (const Tensor& t : tensors) {
    dtype = tenon::promote_types(dtype, t.scalar_type());
    if (!counts(t)) continue;
    sizes.assign(t.sizes().begin(), t.sizes().end());
    total += t.size(dim);
  }
  const int64_t d = wrapped(dim, static_cast<int64_t>(sizes.size()));
  sizes[static_cast<std::size_t>(d)] = total;
  Tensor out = empty(sizes, options_of(tensors[0], dtype));
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    if (!counts(t)) continue;
    out.narrow(d, at, t.size(d)).copy_(t);
    at += t.size(d);
  }
  return out;
}

}  // namespace tenon::decomp
