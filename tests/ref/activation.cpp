// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Activations and their gradients, from their definitions.
#include <algorithm>
#include <limits>

#include "elementwise.h"
#include "tenon/sdk/ops/_gelu_erf.h"
#include "tenon/sdk/ops/_gelu_erf_backward.h"
#include "tenon/sdk/ops/_gelu_tanh.h"
#include "tenon/sdk/ops/_gelu_tanh_backward.h"
#include "tenon/sdk/ops/addcdiv.h"
#include "tenon/sdk/ops/addcmul.h"
#include "tenon/sdk/ops/clamp.h"
#include "tenon/sdk/ops/elu.h"
#include "tenon/sdk/ops/hardshrink.h"
#include "tenon/sdk/ops/hardsigmoid.h"
#include "tenon/sdk/ops/hardswish.h"
#include "tenon/sdk/ops/hardtanh.h"
#include "tenon/sdk/ops/hardtanh_backward.h"
#include "tenon/sdk/ops/leaky_relu.h"
#include "tenon/sdk/ops/lerp.h"
#include "tenon/sdk/ops/log_sigmoid.h"
#include "tenon/sdk/ops/mish.h"
#include "tenon/sdk/ops/native_dropout_backward.h"
#include "tenon/sdk/ops/relu.h"
#include "tenon/sdk/ops/sigmoid_backward.h"
#include "tenon/sdk/ops/silu.h"
#include "tenon/sdk/ops/silu_backward.h"
#include "tenon/sdk/ops/softplus.h"
#include "tenon/sdk/ops/softplus_backward.h"
#include "tenon/sdk/ops/softshrink.h"
#include "tenon/sdk/ops/tanh_backward.h"
#include "tenon/sdk/ops/threshold.h"
#include "tenon/sdk/ops/threshold_backward.h"
#include "tenon/sdk/ops/where.h"

namespace {

using namespace tenon::ref;

constexpr Real kSqrtHalf = 0.70710678118654752440L;
constexpr Real kPi = 3.14159265358979323846L;

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real clamped(Real x, Real low, Real high) {
  if (std::isnan(x) || std::isnan(low) || std::isnan(high))
    return std::numeric_limits<Real>::quiet_NaN();
  return std::min(std::max(x, low), high);
}
Real gelu(Real x) { return x * std::erfc(-x * kSqrtHalf) / 2; }
Real gelu_slope(Real x) {
  return std::erfc(-x * kSqrtHalf) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * kPi);
}
// As far as a double can tell it from 0 and 1; NaN stays.
Real gelu_tanh_slope(Real a) {
  const Real x = a < -30 ? -30 : a > 30 ? 30 : a, c = 0.044715L, k = 2 * std::sqrt(2 / kPi);
  const Real s = sigmoid(k * (x + c * x * x * x));
  return s + x * s * sigmoid(-k * (x + c * x * x * x)) * k * (1 + 3 * c * x * x);
}

template <class F>
tn_status map(Tensor out, Tensor self, F f) {
  each(out.sizes(), [&](const Index& i) { put(out, i, f(get_broadcast(self, i))); });
  return TN_OK;
}
template <class F>
tn_status map3(Tensor out, Tensor a, Tensor b, Tensor c, F f) {
  each(out.sizes(), [&](const Index& i) {
    put(out, i, f(get_broadcast(a, i), get_broadcast(b, i), get_broadcast(c, i)));
  });
  return TN_OK;
}

tn_status leaky_relu(Call&, Tensor out, Tensor self, Scalar slope) {
  return map(out, self, [&](Real x) { return x > 0 ? x : x * number(slope); });
}
tn_status softplus(Call&, Tensor out, Tensor self, Scalar beta, Scalar threshold) {
  const Real b = number(beta);
  return map(out, self, [&](Real x) {
    return x * b > number(threshold) ? x : std::log1p(std::exp(x * b)) / b;
  });
}
tn_status elu(Call&, Tensor out, Tensor self, Scalar alpha, Scalar scale, Scalar input_scale) {
  return map(out, self, [&](Real x) {
    return number(scale) * (x > 0 ? x : number(alpha) * std::expm1(x * number(input_scale)));
  });
}
tn_status hardtanh(Call&, Tensor out, Tensor self, Scalar low, Scalar high) {
  return map(out, self, [&](Real x) { return clamped(x, number(low), number(high)); });
}
// Cut to an integer dtype; refused where that cannot hold it.
Real as_element(const Scalar& s, DType d) {
  if (tenon::sdk::is_floating(d)) return number(s);
  const Real v = number(s), cut = std::trunc(v), size = std::fabs(cut);
  // An integer below zero wraps in an unsigned dtype, if only its size fits.
  if (wrapped(cut, d) != cut ? s.is_float() || wrapped(size, d) != size
                             : v < 0 && d.code == TN_UINT) {
    throw tenon::sdk::Error(TN_ERROR_VALUE, "value ", static_cast<double>(number(s)),
                            " cannot be converted to the dtype without overflow");
  }
  return wrapped(cut, d);
}

tn_status threshold(Call&, Tensor out, Tensor self, Scalar limit, Scalar value) {
  const Real l = as_element(limit, out.dtype()), v = as_element(value, out.dtype());
  return map(out, self, [&](Real x) { return x <= l ? v : x; });
}
tn_status softshrink(Call&, Tensor out, Tensor self, Scalar lambd) {
  const Real l = number(lambd);
  return map(out, self, [&](Real x) {
    return std::isnan(x) ? x : x > l ? x - l : x < -l ? x + l : 0;
  });
}
tn_status hardshrink(Call&, Tensor out, Tensor self, Scalar lambd) {
  const Real l = number(lambd);
  return map(out, self, [&](Real x) { return x >= -l && x <= l ? 0 : x; });
}
tn_status clamp(Call&, Tensor out, Tensor self, std::optional<Scalar> low,
                std::optional<Scalar> high) {
  return map(out, self, [&](Real x) {
    // A bound that is NaN makes everything NaN.
    if (low && !(x >= number(*low)) && !std::isnan(x)) x = number(*low);
    if (high && !(x <= number(*high)) && !std::isnan(x)) x = number(*high);
    return x;
  });
}
tn_status threshold_backward(Call&, Tensor out, Tensor grad, Tensor self, Scalar limit) {
  const Real l = as_element(limit, out.dtype());
  return map3(out, grad, self, self, [&](Real g, Real x, Real) { return x <= l ? 0 : g; });
}
tn_status hardtanh_backward(Call&, Tensor out, Tensor grad, Tensor self, Scalar low, Scalar high) {
  return map3(out, grad, self, self,
              [&](Real g, Real x, Real) { return x <= number(low) || x >= number(high) ? 0 : g; });
}
tn_status softplus_backward(Call&, Tensor out, Tensor grad, Tensor self, Scalar beta,
                            Scalar threshold) {
  const Real b = number(beta);
  return map3(out, grad, self, self, [&](Real g, Real x, Real) {
    return x * b > number(threshold) ? g : g * sigmoid(x * b);
  });
}
tn_status dropout_backward(Call&, Tensor out, Tensor grad, Tensor mask, double scale) {
  return map3(out, grad, mask, mask, [&](Real g, Real m, Real) { return g * m * scale; });
}
tn_status lerp(Call&, Tensor out, Tensor self, Tensor end, Tensor weight) {
  return map3(out, self, end, weight, [](Real a, Real b, Real w) { return a + w * (b - a); });
}
tn_status lerp_number(Call&, Tensor out, Tensor self, Tensor end, Scalar weight) {
  return map3(out, self, end, end,
              [&](Real a, Real b, Real) { return a + number(weight) * (b - a); });
}
tn_status addcmul(Call&, Tensor out, Tensor self, Tensor a, Tensor b, Scalar value) {
  const Real v = factor(value, out.dtype());
  return map3(out, self, a, b, [&](Real s, Real x, Real y) { return s + v * x * y; });
}
tn_status addcdiv(Call&, Tensor out, Tensor self, Tensor a, Tensor b, Scalar value) {
  return map3(out, self, a, b, [&](Real s, Real x, Real y) { return s + number(value) * x / y; });
}
tn_status where(Call&, Tensor out, Tensor condition, Tensor self, Tensor other) {
  return map3(out, condition, self, other, [](Real c, Real x, Real y) { return c != 0 ? x : y; });
}
tn_status where_left(Call&, Tensor out, Tensor condition, Scalar self, Tensor other) {
  return map3(out, condition, other, other,
              [&](Real c, Real y, Real) { return c != 0 ? number(self) : y; });
}
tn_status where_right(Call&, Tensor out, Tensor condition, Tensor self, Scalar other) {
  return map3(out, condition, self, self,
              [&](Real c, Real x, Real) { return c != 0 ? x : number(other); });
}
tn_status where_numbers(Call&, Tensor out, Tensor condition, Scalar self, Scalar other) {
  return map(out, condition, [&](Real c) { return number(c != 0 ? self : other); });
}

REF_UNARY(relu, std::isnan(x) || x > 0 ? x : 0);
REF_UNARY(silu, x* sigmoid(x));
REF_UNARY(mish, x* std::tanh(std::log1p(std::exp(x))));
REF_UNARY(_gelu_erf, gelu(x));
REF_UNARY(_gelu_tanh, x / (1 + std::exp(-2 * std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x))));
REF_UNARY(log_sigmoid, std::min(x, Real(0)) - std::log1p(std::exp(-std::fabs(x))));
REF_UNARY(hardsigmoid, clamped(x + 3, 0, 6) / 6);
REF_UNARY(hardswish, x* clamped(x + 3, 0, 6) / 6);
REF_BINARY(sigmoid_backward, x* y*(1 - y));
REF_BINARY(tanh_backward, x*(1 - y * y));
REF_BINARY(silu_backward, x* sigmoid(y) * (1 + y * sigmoid(-y)));
REF_BINARY(_gelu_erf_backward, x* gelu_slope(y));
REF_BINARY(_gelu_tanh_backward, x* gelu_tanh_slope(y));

TN_KERNEL(leaky_relu, leaky_relu, REF_TRAITS);
TN_KERNEL(softplus, softplus, REF_TRAITS);
TN_KERNEL(elu, elu, REF_TRAITS);
TN_KERNEL(hardtanh, hardtanh, REF_TRAITS);
TN_KERNEL(threshold, threshold, REF_TRAITS);
TN_KERNEL(softshrink, softshrink, REF_TRAITS);
TN_KERNEL(hardshrink, hardshrink, REF_TRAITS);
TN_KERNEL(clamp, clamp, REF_TRAITS);
TN_KERNEL(threshold_backward, threshold_backward, REF_TRAITS);
TN_KERNEL(lerp_Tensor, lerp, REF_TRAITS);
TN_KERNEL(lerp_Scalar, lerp_number, REF_TRAITS);
TN_KERNEL(addcmul, addcmul, REF_TRAITS);
TN_KERNEL(addcdiv, addcdiv, REF_TRAITS);
TN_KERNEL(where_self, where, REF_TRAITS);
TN_KERNEL(where_ScalarSelf, where_left, REF_TRAITS);
TN_KERNEL(where_ScalarOther, where_right, REF_TRAITS);
TN_KERNEL(where_Scalar, where_numbers, any_strides().broadcasts().mixed_dtypes());
TN_KERNEL(hardtanh_backward, hardtanh_backward, REF_TRAITS);
TN_KERNEL(softplus_backward, softplus_backward, REF_TRAITS);
TN_KERNEL(native_dropout_backward, dropout_backward, REF_TRAITS);

}  // namespace
