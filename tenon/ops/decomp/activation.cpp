// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Activations and their gradients.
#include <cmath>

#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

// max(x, 0) + log(1 + e^-|x|) without its first term.
Tensor smooth(const Tensor& x) { return x.abs().neg().exp().log1p(); }
Tensor normal_cdf(const Tensor& x) { return (x * -0.70710678118654752440).erfc() * 0.5; }
Tensor hard_sigmoid(const Tensor& x) { return (x + 3).clamp(0, 6) / 6; }

// A bound as an element: beyond an integer dtype's range it is the range's end.
Tensor limit(const Scalar& v, const Tensor& like) {
  const ScalarType t = like.scalar_type();
  if (isFloatingType(t)) return scalar_like(v, like);
  const double d = v.toDouble();
  if (d >= highest(t).toDouble()) return scalar_like(highest(t), like);
  if (d <= lowest(t).toDouble()) return scalar_like(lowest(t), like);
  return scalar_like(v.toLong(), like);
}

ScalarType promote_with(ScalarType t, const Scalar& v) {
  if (v.isFloatingPoint() && !isFloatingType(t)) return get_default_dtype();
  return t == kBool && !v.isBoolean() ? kLong : t;
}

Tensor at_least(const Tensor& x, const Scalar& v) { return maximum(x, limit(v, x)); }
Tensor at_most(const Tensor& x, const Scalar& v) { return minimum(x, limit(v, x)); }

}  // namespace

Tensor relu(const Tensor& self) { return maximum(self, scalar_like(0, self)); }
Tensor leaky_relu(const Tensor& self, const Scalar& slope) {
  return tenon::where(self > 0, self, self * slope);
}
Tensor silu(const Tensor& self) {
  const Tensor x = wide(self);
  return x * x.sigmoid();
}
Tensor mish(const Tensor& self) {
  const Tensor x = wide(self);
  return x * (tenon::relu(x) + smooth(x)).tanh();
}
Tensor _gelu_erf(const Tensor& self) {
  const Tensor x = wide(self);
  return x * normal_cdf(x);
}
Tensor _gelu_tanh(const Tensor& self) {
  const Tensor x = wide(self);
  return x * ((x + x * x * x * 0.044715) * 1.5957691216057308).sigmoid();
}
Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  const Tensor x = wide(self), y = x * beta;
  return tenon::where(y > threshold, x, (tenon::relu(y) + smooth(y)) / beta);
}
Tensor log_sigmoid(const Tensor& self) {
  const Tensor x = wide(self);
  return minimum(x, scalar_like(0, x)) - smooth(x);
}
Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale,
           const Scalar& input_scale) {
  const Tensor x = wide(self);
  return tenon::where(x > 0, x * scale,
                      (x * input_scale).expm1() * (alpha.toDouble() * scale.toDouble()));
}
Tensor hardtanh(const Tensor& self, const Scalar& low, const Scalar& high) {
  return at_most(at_least(self, low), high);
}
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return tenon::where(self <= scalar_like(threshold, self), scalar_like(value, self), self);
}
Tensor hardsigmoid(const Tensor& self) { return hard_sigmoid(wide(self)); }
Tensor hardswish(const Tensor& self) {
  const Tensor x = wide(self);
  return x * hard_sigmoid(x);
}
Tensor softshrink(const Tensor& self, const Scalar& lambd) {
  const Tensor x = wide(self), outside = tenon::where(x < -lambd.toDouble(), x + lambd, x * 0);
  return tenon::where(x > lambd, x - lambd, outside);
}
Tensor hardshrink(const Tensor& self, const Scalar& lambd) {
  return tenon::where((self >= -lambd.toDouble()).logical_and(self <= lambd), scalar_like(0, self),
                      self);
}

Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold) {
  return tenon::where(self <= scalar_like(threshold, self), scalar_like(0, grad), grad);
}
Tensor sigmoid_backward(const Tensor& grad, const Tensor& output) {
  const Tensor y = wide(output);
  return wide(grad) * ((1 - y) * y);
}
Tensor tanh_backward(const Tensor& grad, const Tensor& output) {
  const Tensor y = wide(output);
  return wide(grad) * (1 - y * y);
}
Tensor silu_backward(const Tensor& grad, const Tensor& self) {
  const Tensor x = wide(self), s = x.sigmoid();
  return wide(grad) * s * (1 + x * x.neg().sigmoid());
}
Tensor _gelu_erf_backward(const Tensor& grad, const Tensor& self) {
  const Tensor x = wide(self);
  return wide(grad) * (normal_cdf(x) + x * 0.39894228040143267794 * (x * x * -0.5).exp());
}
Tensor _gelu_tanh_backward(const Tensor& grad, const Tensor& self) {
  constexpr double k = 1.5957691216057308, c = 0.044715;
  const Tensor x = at_most(at_least(wide(self), -30), 14), square = x * x;
  const Tensor s = ((x + square * x * c) * k).sigmoid();
  return wide(grad) * (s + x * s * (1 - s) * (k + square * (3 * k * c)));
}
Tensor hardtanh_backward(const Tensor& grad, const Tensor& self, const Scalar& low,
                         const Scalar& high) {
  return tenon::where((self <= low).logical_or(self >= high), scalar_like(0, grad), grad);
}
Tensor softplus_backward(const Tensor& grad, const Tensor& self, const Scalar& beta,
                         const Scalar& threshold) {
  const Tensor y = wide(self) * beta, g = wide(grad);
  return tenon::where(y > threshold, g, g * y.sigmoid());
}

Tensor rsub_Tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return other.sub(self, alpha);
}
Tensor rsub_Scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return as(self, promote_with(self.scalar_type(), other)).mul(alpha).neg().add(other);
}
Tensor clamp(const Tensor& self, const std::optional<Scalar>& low,
             const std::optional<Scalar>& high) {
  ScalarType t = self.scalar_type();
  if (low) t = promote_with(t, *low);
  if (high) t = promote_with(t, *high);
  Tensor x = as(self, t);
  if (low) x = at_least(x, *low);
  return high ? at_most(x, *high) : x;
}
Tensor clamp_min(const Tensor& self, const Scalar& low) {
  return at_least(as(self, promote_with(self.scalar_type(), low)), low);
}
Tensor clamp_max(const Tensor& self, const Scalar& high) {
  return at_most(as(self, promote_with(self.scalar_type(), high)), high);
}
Tensor where_ScalarSelf(const Tensor& condition, const Scalar& self, const Tensor& other) {
  const ScalarType t = promote_with(other.scalar_type(), self);
  return tenon::where(condition, full({}, self, options_of(other, t)), as(other, t));
}
Tensor where_ScalarOther(const Tensor& condition, const Tensor& self, const Scalar& other) {
  const ScalarType t = promote_with(self.scalar_type(), other);
  return tenon::where(condition, as(self, t), full({}, other, options_of(self, t)));
}
Tensor where_Scalar(const Tensor& condition, const Scalar& self, const Scalar& other) {
  const ScalarType t = tenon::promote_types(promote_with(kBool, self), promote_with(kBool, other));
  const auto as_scalar = [&](const Scalar& v) { return full({}, v, options_of(condition, t)); };
  return tenon::where(condition, as_scalar(self), as_scalar(other));
}
Tensor lerp_Scalar(const Tensor& self, const Tensor& end, const Scalar& weight) {
  const Tensor a = wide(self), b = wide(end);
  const double w = weight.toDouble();
  return w < 0.5 ? a + (b - a) * w : b - (b - a) * (1 - w);
}
Tensor lerp_Tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  const Tensor a = wide(self), b = wide(end), w = wide(weight);
  return tenon::where(w < 0.5, a + w * (b - a), b - (b - a) * (1 - w));
}
Tensor addcmul(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  const Tensor x = wide(a);
  return wide(self) + x * scalar_like(value, x) * wide(b);
}
Tensor addcdiv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  return wide(self) + wide(a) * value / wide(b);
}
Tensor heaviside(const Tensor& self, const Tensor& values) {
  return tenon::where(self.eq(0), values, as(self > 0, self.scalar_type()));
}
Tensor lcm(const Tensor& self, const Tensor& other) {
  const Tensor g = gcd(self, other), none = g.eq(0);
  const Tensor quotient = _div_trunc(as(self, g.scalar_type()), g + as(none, g.scalar_type()));
  return tenon::where(none, scalar_like(0, g), (quotient * other).abs());
}

}  // namespace tenon::decomp
