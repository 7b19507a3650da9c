// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/pointwise.h"

#include <cmath>

namespace tenon::autograd::formulas {

Tensor scaled(const Tensor& grad, const Scalar& factor) {
  return factor.equal(1) ? grad : grad * factor.conj();
}

Tensor conjugated(const Tensor& t) { return t.is_complex() ? tenon::conj_physical(t) : t; }

Tensor abs_backward(const Tensor& grad, const Tensor& self) { return grad * tenon::sgn(self); }

Tensor lerp_self_backward(const Tensor& grad, const Scalar& weight) {
  return scaled(grad, weight.isComplex()
                          ? Scalar(core::complex<double>(1) - weight.toComplexDouble())
                          : Scalar(1 - weight.toDouble()));
}

Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (exponent.equal(0)) return zeros_like(grad);
  if (exponent.equal(1)) return grad;
  if (exponent.equal(2)) return grad * (conjugated(self) * 2);
  const Scalar less = exponent.isComplex()
                          ? Scalar(exponent.toComplexDouble() - core::complex<double>(1))
                          : Scalar(exponent.toDouble() - 1);
  return grad * conjugated(self.pow(less) * exponent);
}

// Where one of these formulas is undefined, the argument is replaced as well as the result: the
// gradient of what is left out must be zero and not zero times infinity.

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  const Tensor flat = logical_and(exponent == 0, logical_or(self == 0, self != self));
  return where(flat, 0, grad * conjugated(exponent * where(flat, 1, self).pow(exponent - 1)));
}

// The limit where the base is zero.
Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent,
                             const Tensor& result) {
  const bool complex = self.is_complex() || exponent.is_complex();
  const Tensor limit =
      logical_and(self == 0, (exponent.is_complex() ? tenon::real(exponent) : exponent) >= 0);
  Tensor base = where(limit, 1, self);
  if (complex) base = base.to(result.scalar_type());
  return where(limit, 0, grad * conjugated(result * base.log()));
}

Tensor pow_backward_base(const Tensor& grad, const Scalar& self, const Tensor& exponent,
                         const Tensor& result) {
  if (self.isComplex() || exponent.is_complex()) {
    const std::complex<double> base(self.toComplexDouble());
    if (base == 0.0) return zeros_like(grad);
    return grad * conjugated(result * Scalar(std::log(base)));
  }
  const double base = self.toDouble();
  if (base == 0) return where(exponent >= 0, 0, grad * (result * std::log(base)));
  return grad * (result * std::log(base));
}

Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return where(self == other, grad / 2, where(self < other, 0, grad));
}

Tensor fmax_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor wins = logical_or(self > other, isnan(other));
  return where(self == other, grad / 2, where(wins, grad, 0));
}

Tensor fmax_backward_other(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor loses = logical_or(self > other, isnan(other));
  return where(self == other, grad / 2, where(loses, 0, grad));
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max) {
  if (min && max) return where(logical_and(self > *min, self < *max), grad, 0);
  return min ? where(self > *min, grad, 0) : where(self < *max, grad, 0);
}

Tensor atan2_slope(const Tensor& self, const Tensor& other, const Tensor& of) {
  const Tensor origin = logical_and(self == 0, other == 0);
  const Tensor size = hypot(where(origin, 1, self), other);
  return where(origin, 0, of / size / size);
}

// Zero where grad is zero, also where the logarithm is undefined.
Tensor xlogy_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return where(logical_and(self == 0, other <= 0), 0, xlogy(grad, other));
}

Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return where(self == 0, 0, grad * (result / self));
}

Tensor mish_backward(const Tensor& grad, const Tensor& self) {
  const Tensor t = softplus(self).tanh(), s = sigmoid(self);
  return grad * (t + self * s * (1 - t * t));
}

Tensor gelu_tanh_second(const Tensor& self) {
  constexpr double k = 1.5957691216057308, c = 0.044715;
  const Tensor x = self.clamp(-30, 14), square = x * x, s = ((x + square * x * c) * k).sigmoid();
  const Tensor bump = s * (1 - s), slope = k + square * (3 * k * c);
  return bump * (2 * slope + x * (slope * slope * (1 - 2 * s) + x * (6 * k * c)));
}

Tensor elu_backward(const Tensor& grad, const Tensor& self, const Scalar& alpha,
                    const Scalar& scale, const Scalar& input_scale) {
  const double below = alpha.toDouble() * scale.toDouble() * input_scale.toDouble();
  return where(self > 0, grad * scale,
               grad * ((where(self < 0, self, 0) * input_scale).exp() * below));
}

Tensor hardswish_backward(const Tensor& grad, const Tensor& self) {
  return where(self <= -3, 0, where(self < 3, grad * (self / 3 + 0.5), grad));
}

Tensor shrink_backward(const Tensor& grad, const Tensor& self, const Scalar& lambd) {
  return where(logical_and(self >= -lambd, self <= lambd), 0, grad);
}

Tensor silu_second(const Tensor& self) {
  const Tensor s = sigmoid(self);
  return s * (1 - s) * (2 + self * (1 - 2 * s));
}

Tensor softplus_second(const Tensor& grad, const Tensor& self, const Scalar& beta,
                       const Scalar& threshold) {
  const Tensor s = sigmoid(self * beta);
  return where(self * beta > threshold, 0, grad * (s * (1 - s) * beta));
}

Tensor igamma_slope(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return grad * tenon::exp((self - 1) * tenon::log(other) - other - tenon::lgamma(self));
}

Tensor frexp_backward(const Tensor& grad, const Tensor& exponent) {
  return grad * tenon::exp2(-exponent.to(grad.scalar_type()));
}

}  // namespace tenon::autograd::formulas
