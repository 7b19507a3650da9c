// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pointwise operators that are compositions of others, and aliases.
#include <cmath>
#include <limits>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

namespace {

enum class Rounding { None, Trunc, Floor };

Rounding rounding(std::optional<std::string_view> mode) {
  if (!mode) return Rounding::None;
  if (*mode == "trunc") return Rounding::Trunc;
  if (*mode == "floor") return Rounding::Floor;
  throw ValueError(
      core::join("div: rounding_mode is none, \"trunc\" or \"floor\", got \"", *mode, "\""));
}

template <class Other>
Tensor rounded_quotient(const Tensor& self, const Other& other,
                        std::optional<std::string_view> mode) {
  switch (rounding(mode)) {
    case Rounding::Trunc:
      return tenon::_div_trunc(self, other);
    case Rounding::Floor:
      return tenon::floor_divide(self, other);
    case Rounding::None:
      break;
  }
  return tenon::div(self, other);
}

}  // namespace

Tensor div_Tensor_mode(const Tensor& self, const Tensor& other,
                       std::optional<std::string_view> rounding_mode) {
  return rounded_quotient(self, other, rounding_mode);
}
Tensor div_Scalar_mode(const Tensor& self, const Scalar& other,
                       std::optional<std::string_view> rounding_mode) {
  return rounded_quotient(self, other, rounding_mode);
}
Tensor true_divide_Tensor(const Tensor& self, const Tensor& other) {
  return tenon::div(self, other);
}
Tensor true_divide_Scalar(const Tensor& self, const Scalar& other) {
  return tenon::div(self, other);
}
Tensor divide_Tensor(const Tensor& self, const Tensor& other) { return tenon::div(self, other); }
Tensor divide_Scalar(const Tensor& self, const Scalar& other) { return tenon::div(self, other); }
Tensor divide_Tensor_mode(const Tensor& self, const Tensor& other,
                          std::optional<std::string_view> rounding_mode) {
  return rounded_quotient(self, other, rounding_mode);
}
Tensor divide_Scalar_mode(const Tensor& self, const Scalar& other,
                          std::optional<std::string_view> rounding_mode) {
  return rounded_quotient(self, other, rounding_mode);
}
Tensor multiply_Tensor(const Tensor& self, const Tensor& other) { return tenon::mul(self, other); }
Tensor multiply_Scalar(const Tensor& self, const Scalar& other) { return tenon::mul(self, other); }
Tensor subtract_Tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return tenon::sub(self, other, alpha);
}
Tensor subtract_Scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return tenon::sub(self, other, alpha);
}

namespace {
ScalarType double_of(bool complex) { return complex ? kComplexDouble : kDouble; }
Scalar wide_scalar(const Scalar& s, bool complex) {
  return complex ? Scalar(s.toComplexDouble()) : Scalar(s.toDouble());
}
}  // namespace

Tensor float_power_Tensor_Tensor(const Tensor& self, const Tensor& exponent) {
  const ScalarType t = double_of(self.is_complex() || exponent.is_complex());
  return tenon::pow(self.to(t), exponent.to(t));
}
Tensor float_power_Tensor_Scalar(const Tensor& self, const Scalar& exponent) {
  const bool complex = self.is_complex() || exponent.isComplex();
  return tenon::pow(self.to(double_of(complex)), wide_scalar(exponent, complex));
}
Tensor float_power_Scalar(const Scalar& self, const Tensor& exponent) {
  const bool complex = self.isComplex() || exponent.is_complex();
  return tenon::pow(wide_scalar(self, complex), exponent.to(double_of(complex)));
}

Tensor negative(const Tensor& self) { return tenon::neg(self); }
Tensor positive(const Tensor& self) {
  if (self.scalar_type() == kBool)
    throw TypeError("positive: The `+` operator, on a bool tensor is not supported.");
  return self;
}
Tensor absolute(const Tensor& self) { return tenon::abs(self); }
Tensor sgn(const Tensor& self) {
  if (!self.is_complex()) return tenon::sign(self);
  const Tensor size = tenon::abs(self), none = size == 0;
  return tenon::where(none, 0, self / tenon::where(none, 1, size));
}
Tensor fix(const Tensor& self) { return tenon::trunc(self); }
Tensor frac(const Tensor& self) {
  if (!isFloatingType(self.scalar_type())) {
    throw NotImplementedError(
        core::join("frac: not implemented for dtype ", toString(self.scalar_type())));
  }
  return self - tenon::trunc(self);
}
Tensor square(const Tensor& self) {
  return self.scalar_type() == kBool ? self.to(kLong) : self * self;
}

Tensor round_decimals(const Tensor& self, int64_t decimals) {
  if (decimals == 0 || !isFloatingType(self.scalar_type())) return tenon::round(self);
  const double ten = std::pow(10.0, std::fabs(static_cast<double>(decimals)));
  const Tensor x = wide(self);
  return rounded(decimals < 0 ? tenon::round(x / ten) * ten : tenon::round(x * ten) / ten, self);
}

Tensor clamp_Tensor(const Tensor& self, const std::optional<Tensor>& min,
                    const std::optional<Tensor>& max) {
  if (!min && !max) throw ValueError("clamp: At least one of 'min' or 'max' must not be None");
  if (!max) return tenon::clamp_min(self, *min);
  return tenon::clamp_max(min ? tenon::clamp_min(self, *min) : self, *max);
}
Tensor clip(const Tensor& self, const std::optional<Scalar>& min,
            const std::optional<Scalar>& max) {
  return tenon::clamp(self, min, max);
}
Tensor clip_Tensor(const Tensor& self, const std::optional<Tensor>& min,
                   const std::optional<Tensor>& max) {
  return tenon::clamp(self, min, max);
}

Tensor arcsin(const Tensor& self) { return tenon::asin(self); }
Tensor arccos(const Tensor& self) { return tenon::acos(self); }
Tensor arctan(const Tensor& self) { return tenon::atan(self); }
Tensor arcsinh(const Tensor& self) { return tenon::asinh(self); }
Tensor arccosh(const Tensor& self) { return tenon::acosh(self); }
Tensor arctanh(const Tensor& self) { return tenon::atanh(self); }
Tensor arctan2(const Tensor& self, const Tensor& other) { return tenon::atan2(self, other); }

Tensor deg2rad(const Tensor& self) { return self * (3.14159265358979323846 / 180); }
Tensor rad2deg(const Tensor& self) { return self * (180 / 3.14159265358979323846); }

Tensor logit(const Tensor& self, std::optional<double> eps) {
  if (self.is_complex()) {
    throw NotImplementedError(
        core::join("logit: not implemented for dtype ", toString(self.scalar_type())));
  }
  // 1 - x wraps for bytes, and bool has no subtraction.
  const Tensor x = isFloatingType(self.scalar_type()) ? wide(self) : self.to(get_default_dtype());
  if (!eps) {
    // NaN beyond 0 and 1, which the slopes of the logarithms are not. A quotient has none there.
    const Tensor in = x + tenon::where((x < 0).logical_or(x > 1), NAN, 0).to(x.scalar_type());
    return rounded(tenon::log(in) - tenon::log1p(-in), self);
  }
  // Above one half the bounds cross: the lower one is tried first.
  const Tensor high = tenon::where(x > 1 - *eps, 1 - *eps, x),
               y = tenon::where(x < *eps, *eps, high);
  return rounded(tenon::log(y / (1 - y)), self);
}

// sin(x) / x, |x| below 1/2, by its series (16 digits).
static Tensor sinc_near_zero(const Tensor& x) {
  const Tensor t = x * x;
  Tensor sum = 1 - t / 210;
  for (const int divisor : {156, 110, 72, 42, 20, 6}) sum = 1 - t / divisor * sum;
  return sum;
}

static Tensor sinc_quotient(const Tensor& x, const Tensor& one) {
  const Tensor there = tenon::where(one, 1, x);
  return tenon::where(one, 1, tenon::sin(there) / there);
}

Tensor sinc(const Tensor& self) {
  const Tensor x = wide(self) * 3.14159265358979323846, zero = self == 0;
  if (!x.requires_grad()) return rounded(sinc_quotient(x, zero), self);
  // Slopes of the quotient are differences of nearly equal numbers near zero, so that they come
  // from the series there. Its value becomes the quotient's, to the bit: the difference of numbers
  // this near is exact.
  const Tensor near = x.abs() < 0.5, series = sinc_near_zero(tenon::where(near, x, 0));
  const Tensor same = series + (sinc_quotient(x.detach(), zero) - series.detach());
  return rounded(tenon::where(near, same, sinc_quotient(x, near)), self);
}

// The gradient reads what self was.
Tensor polygamma_(const Tensor& self, int64_t n) {
  TENON_CHECK(self.is_floating_point(), TypeError, "polygamma_: result type ",
              toString(get_default_dtype()), " can't be cast to the desired output type ",
              toString(self.scalar_type()));
  return self.copy_(tenon::polygamma(n, self.clone()));
}

Tensor mvlgamma(const Tensor& self, int64_t p) {
  TENON_CHECK(p >= 1, ValueError, "mvlgamma: p has to be greater than or equal to 1, got ", p);
  const double dims = static_cast<double>(p);
  const Tensor x = wide(self);
  const ScalarType t = isFloatingType(x.scalar_type()) ? x.scalar_type() : get_default_dtype();
  // All steps as one tensor: p of a hostile call must fit memory.
  const Tensor halves = tenon::arange(p, x.options().requires_grad(false).dtype(t)) * 0.5;
  const Tensor sum = tenon::lgamma(x.unsqueeze(-1) - halves).sum({-1});
  return rounded(sum + dims * (dims - 1) / 4 * std::log(3.14159265358979323846), self);
}

// Values of the dtype itself: the largest finite one is 65504 for float16, not double's.
Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  const ScalarType t = self.scalar_type();
  if (self.is_complex()) {
    // As in ATen neither part has a gradient where one is not finite.
    const Tensor x = tenon::where(tenon::isfinite(self), self, self.detach());
    const Tensor parts = tenon::nan_to_num(tenon::view_as_real(x), nan, posinf, neginf);
    return tenon::view_as_complex(parts.contiguous());
  }
  if (!isFloatingType(t)) return self.clone();
  const double largest = t == kDouble  ? std::numeric_limits<double>::max()
                         : t == kFloat ? static_cast<double>(std::numeric_limits<float>::max())
                         : t == kHalf  ? 65504.0
                                       : 3.3895313892515355e38;
  const double inf = std::numeric_limits<double>::infinity();
  // A value beyond the dtype's range is its infinity.
  const auto held = [&](double v) { return std::fabs(v) > largest ? std::copysign(inf, v) : v; };
  Tensor r = tenon::where(tenon::isnan(self), held(nan.value_or(0)), self);
  r = tenon::where(self == inf, held(posinf.value_or(largest)), r);
  return tenon::where(self == -inf, held(neginf.value_or(-largest)), r);
}

Tensor logaddexp2(const Tensor& self, const Tensor& other) {
  const double ln2 = 0.69314718055994530942;
  return rounded(tenon::logaddexp(wide(self) * ln2, wide(other) * ln2) / ln2, self, other);
}
Tensor ldexp_Tensor(const Tensor& self, const Tensor& other) {
  if (self.is_complex() || other.is_complex()) return self * tenon::pow(2.0, wide(other));
  if (isFloatingType(other.scalar_type()))
    return rounded(wide(self) * tenon::pow(2.0, wide(other)), self, other);
  // Integer exponents: three factors in double, as 2^1500 overflows but 1e-300 * 2^1500 does not.
  const ScalarType t =
      isFloatingType(self.scalar_type()) ? self.scalar_type() : get_default_dtype();
  const Tensor n = other.to(kLong).clamp(-2200, 2200), first = tenon::div(n, 3, "trunc"),
               rest = n - first * 2;
  const Tensor step = tenon::pow(2.0, first.to(kDouble));
  return (self.to(kDouble) * step * step * tenon::pow(2.0, rest.to(kDouble))).to(t);
}

}  // namespace tenon::composite
