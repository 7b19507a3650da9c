// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators on complex numbers for devices whose kernels know real ones only: what is linear acts
// on the parts, which lie side by side in the last dimension of view_as_real; products of matrices
// are four real ones.
#include <cmath>

#include "tenon/ops/complex.h"
#include "tenon/ops/decomp/decomp.h"
#include "tenon/runtime/error.h"

namespace tenon::decomp {
namespace {

using composite::joined;
using composite::to_complex;

// f of the parts, along a further dimension at the end.
template <class F>
Tensor by_parts(const Tensor& self, F&& f) {
  return tenon::view_as_complex(f(tenon::view_as_real(self)).contiguous());
}
Tensor with_dtype(const Tensor& self, std::optional<ScalarType> dtype) {
  return dtype ? as(self, *dtype) : self;
}
// op of each pair of parts, op being linear in both.
template <class F>
Tensor product(const Tensor& a, const Tensor& b, F&& op) {
  const Tensor ar = tenon::real(a), ai = tenon::imag(a), br = tenon::real(b), bi = tenon::imag(b);
  return joined(op(ar, br) - op(ai, bi), op(ar, bi) + op(ai, br));
}
// beta * self + alpha * product; a beta of zero takes no NaN over.
Tensor scaled_sum(const Tensor& self, const Tensor& product, const Scalar& beta,
                  const Scalar& alpha) {
  const Tensor scaled = alpha.equal(1) ? product : product * alpha;
  return beta.equal(0) ? scaled : (beta.equal(1) ? self : self * beta) + scaled;
}
Tensor nonzero_mask(const Tensor& self) { return self != 0; }

}  // namespace

Tensor complex_abs(const Tensor& self) {
  return tenon::hypot(tenon::real(self), tenon::imag(self));
}
Tensor conj_physical(const Tensor& self) { return self.clone(); }
Tensor complex_conj_physical(const Tensor& self) {
  return joined(tenon::real(self), -tenon::imag(self));
}

Tensor complex_sum_dim_IntList(const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
                               std::optional<ScalarType> dtype) {
  const std::vector<int64_t> dims = dims_of(dim, self.dim());
  const Tensor x = with_dtype(self, dtype);
  if (x.dim() == 0 || dims.empty()) return x.clone();
  return by_parts(x, [&](const Tensor& t) { return tenon::sum(t, dims, keepdim); });
}
Tensor complex_mean_dim(const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
                        std::optional<ScalarType> dtype) {
  const double n = static_cast<double>(count_of(self, dims_of(dim, self.dim())));
  const Tensor total = complex_sum_dim_IntList(self, dim, keepdim, dtype);
  return by_parts(total, [&](const Tensor& t) { return t / n; });
}

Tensor complex_cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const Tensor x = with_dtype(self, dtype);
  if (x.dim() == 0) return x.clone();
  return by_parts(x, [&](const Tensor& t) { return tenon::cumsum(t, wrapped(dim, self.dim())); });
}
// log2(n) rounds, in which each element takes the product of those before it.
Tensor complex_cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  Tensor x = with_dtype(self, dtype);
  if (x.dim() == 0 || x.numel() == 0) return x.clone();
  for (int64_t step = 1, n = x.size(dim); step < n; step *= 2) {
    const Tensor head = x.narrow(dim, 0, step), tail = x.narrow(dim, step, n - step);
    x = tenon::cat({head, tail * x.narrow(dim, 0, n - step)}, dim);
  }
  return x;
}
Tensor complex_prod_dim_int(const Tensor& self, int64_t dim, bool keepdim,
                            std::optional<ScalarType> dtype) {
  Tensor x = with_dtype(self, dtype);
  if (x.dim() == 0) return x.clone();
  const int64_t d = wrapped(dim, x.dim());
  if (x.size(d) == 0) return tenon::sum(x, IntArrayRef(d), keepdim) + 1;
  while (x.size(d) > 1) {  // halves are multiplied
    const int64_t n = x.size(d), half = n / 2;
    const Tensor product = x.narrow(d, 0, half) * x.narrow(d, half, half);
    x = n % 2 ? tenon::cat({product, x.narrow(d, n - 1, 1)}, d) : product;
  }
  return keepdim ? x : x.squeeze(d);
}
Tensor complex_prod(const Tensor& self, std::optional<ScalarType> dtype) {
  return complex_prod_dim_int(self.reshape({-1}), 0, false, dtype);
}

// Moduli have the norm, and the parts together the variance.
Tensor complex_norm_ScalarOpt_dim(const Tensor& self, const std::optional<Scalar>& p,
                                  IntArrayRef dim, bool keepdim) {
  return tenon::norm(tenon::abs(self), p, dim, keepdim);
}
Tensor complex_var_correction(const Tensor& self, OptionalIntArrayRef dim,
                              const std::optional<Scalar>& correction, bool keepdim) {
  return tenon::var(tenon::real(self), dim, correction, keepdim) +
         tenon::var(tenon::imag(self), dim, correction, keepdim);
}
Both complex_var_mean_correction(const Tensor& self, OptionalIntArrayRef dim,
                                 const std::optional<Scalar>& correction, bool keepdim) {
  return {complex_var_correction(self, dim, correction, keepdim), tenon::mean(self, dim, keepdim)};
}
// One after the other: the angle goes on from that of the sum before, beyond pi, too.
Tensor complex_logcumsumexp(const Tensor& self, int64_t dim) {
  if (self.dim() == 0 || self.numel() == 0) return self.clone();
  std::vector<Tensor> sums = tenon::unbind(self, dim);
  for (std::size_t i = 1; i < sums.size(); ++i) sums[i] = tenon::logaddexp(sums[i - 1], sums[i]);
  return tenon::stack(sums, dim);
}

Tensor complex_all(const Tensor& self) { return tenon::all(nonzero_mask(self)); }
Tensor complex_all_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return tenon::all(nonzero_mask(self), dim, keepdim);
}
Tensor complex_all_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return tenon::all(nonzero_mask(self), dim, keepdim);
}
Tensor complex_any(const Tensor& self) { return tenon::any(nonzero_mask(self)); }
Tensor complex_any_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return tenon::any(nonzero_mask(self), dim, keepdim);
}
Tensor complex_any_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return tenon::any(nonzero_mask(self), dim, keepdim);
}

Tensor complex_bmm(const Tensor& a, const Tensor& b) {
  return product(a, b, [](const Tensor& x, const Tensor& y) { return tenon::bmm(x, y); });
}
Tensor complex_mm(const Tensor& a, const Tensor& b) {
  return product(a, b, [](const Tensor& x, const Tensor& y) { return tenon::mm(x, y); });
}
Tensor complex_mv(const Tensor& a, const Tensor& b) {
  return product(a, b, [](const Tensor& x, const Tensor& y) { return tenon::mv(x, y); });
}
Tensor complex_dot(const Tensor& a, const Tensor& b) {
  return product(a, b, [](const Tensor& x, const Tensor& y) { return tenon::dot(x, y); });
}
Tensor complex_addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                     const Scalar& alpha) {
  return scaled_sum(self, complex_mm(a, b), beta, alpha);
}
Tensor complex_baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                       const Scalar& alpha) {
  return scaled_sum(self, complex_bmm(a, b), beta, alpha);
}
Tensor complex_addmv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                     const Scalar& alpha) {
  return scaled_sum(self, complex_mv(a, b), beta, alpha);
}

Tensor complex_pow_Tensor_Scalar(const Tensor& self, const Scalar& exponent) {
  const Tensor x = to_complex(self);
  return tenon::pow(x, scalar_like(exponent, x));
}

Tensor complex_lerp_Tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  const Tensor w = to_complex(weight), step = end - self;
  return tenon::where(tenon::abs(w) < 0.5, self + w * step, end - step * (1 - w));
}
Tensor complex_lerp_Scalar(const Tensor& self, const Tensor& end, const Scalar& weight) {
  return complex_lerp_Tensor(self, end, scalar_like(weight, self));
}
// Relative to the operand with the larger real part.
Tensor complex_logaddexp(const Tensor& self, const Tensor& other) {
  const Tensor first = tenon::real(self) >= tenon::real(other);
  const Tensor high = tenon::where(first, self, other), low = tenon::where(first, other, self);
  const Tensor sum = high + tenon::log1p(tenon::exp(low - high));
  return tenon::where(tenon::logical_and(tenon::isinf(tenon::real(self)), self == other), self,
                      sum);
}
Tensor complex_silu_backward(const Tensor& grad, const Tensor& self) {
  const Tensor s = tenon::sigmoid(self);
  return grad * tenon::conj(s * (1 + self * (1 - s)));
}

Tensor complex_linspace(const Scalar& start, const Scalar& end, int64_t steps,
                        const TensorOptions& options) {
  const auto a = start.toComplexDouble(), b = end.toComplexDouble();
  const ScalarType dtype =
      options.has_dtype() ? options.dtype() : toComplexType(get_default_dtype());
  const TensorOptions parts = options.dtype(toRealValueType(dtype));
  return joined(tenon::linspace(a.real(), b.real(), steps, parts),
                tenon::linspace(a.imag(), b.imag(), steps, parts));
}
Tensor complex_logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                        const TensorOptions& options) {
  const ScalarType dtype =
      options.has_dtype() ? options.dtype() : toComplexType(get_default_dtype());
  const Tensor even = complex_linspace(start, end, steps, options.dtype(kComplexDouble));
  return as(tenon::exp(even * std::log(std::complex<double>(base))), dtype);
}

// Sums only: complex numbers have no order, and products of them no kernel.
Tensor complex_scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index,
                                  const Tensor& src, std::string_view reduce, bool include_self) {
  TENON_CHECK(reduce == "sum", NotImplementedError, "scatter_reduce: '", reduce,
              "' is not implemented for complex numbers");
  const Tensor start = include_self ? self : self.scatter(dim, index, 0);
  return start.scatter_add(dim, index, src);
}

// Windows and borders move and add elements.
namespace {
template <class F>
Tensor each_part(const Tensor& t, F&& f) {
  return joined(f(tenon::real(t)), f(tenon::imag(t)));
}
}  // namespace

Tensor complex_im2col(const Tensor& self, IntArrayRef kernel, IntArrayRef dilation,
                      IntArrayRef padding, IntArrayRef stride) {
  return each_part(
      self, [&](const Tensor& t) { return tenon::im2col(t, kernel, dilation, padding, stride); });
}
Tensor complex_col2im(const Tensor& self, IntArrayRef size, IntArrayRef kernel,
                      IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  return each_part(self, [&](const Tensor& t) {
    return tenon::col2im(t, size, kernel, dilation, padding, stride);
  });
}
#define TN_PAD_BACKWARD(name)                                                                \
  Tensor complex_##name(const Tensor& grad, const Tensor& self, IntArrayRef padding) {       \
    const Tensor shape = tenon::real(self);                                                  \
    return each_part(grad, [&](const Tensor& t) { return tenon::name(t, shape, padding); }); \
  }
TN_PAD_BACKWARD(reflection_pad1d_backward)
TN_PAD_BACKWARD(reflection_pad2d_backward)
TN_PAD_BACKWARD(reflection_pad3d_backward)
TN_PAD_BACKWARD(replication_pad1d_backward)
TN_PAD_BACKWARD(replication_pad2d_backward)
TN_PAD_BACKWARD(replication_pad3d_backward)
#undef TN_PAD_BACKWARD

}  // namespace tenon::decomp
