// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The scalar functions that the expressions of pointwise.def use, for float and double on host and
// device, and a few for integers and bool too. An expression is a template: on the CPU it also runs
// on vectors, which have functions of the same names.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/sdk/hd.h"

namespace tenon::sdk::math {

#define TN_MATH_1(name)                                     \
  TN_HD inline float name(float a) { return std::name(a); } \
  TN_HD inline double name(double a) { return std::name(a); }
#define TN_MATH_2(name)                                                 \
  TN_HD inline float name(float a, float b) { return std::name(a, b); } \
  TN_HD inline double name(double a, double b) { return std::name(a, b); }
TN_MATH_1(exp)
TN_MATH_1(exp2)
TN_MATH_1(expm1)
TN_MATH_1(log)
TN_MATH_1(log2)
TN_MATH_1(log10)
TN_MATH_1(log1p)
TN_MATH_1(sqrt)
TN_MATH_1(sin)
TN_MATH_1(cos)
TN_MATH_1(tan)
TN_MATH_1(asin)
TN_MATH_1(acos)
TN_MATH_1(atan)
TN_MATH_1(sinh)
TN_MATH_1(cosh)
TN_MATH_1(tanh)
TN_MATH_1(asinh)
TN_MATH_1(acosh)
TN_MATH_1(atanh)
TN_MATH_1(erf)
TN_MATH_1(erfc)
TN_MATH_1(lgamma)
TN_MATH_2(atan2)
TN_MATH_2(hypot)
TN_MATH_2(nextafter)
#undef TN_MATH_1
#undef TN_MATH_2

// Returns integers unchanged.
#define TN_MATH_ROUNDING(name, std_name)       \
  template <class T>                           \
  TN_HD T name(T a) {                          \
    if constexpr (std::is_floating_point_v<T>) \
      return std::std_name(a);                 \
    else                                       \
      return a;                                \
  }
TN_MATH_ROUNDING(floor, floor)
TN_MATH_ROUNDING(ceil, ceil)
TN_MATH_ROUNDING(trunc, trunc)
TN_MATH_ROUNDING(round, nearbyint)
#undef TN_MATH_ROUNDING

template <class T>
TN_HD T select(bool c, T a, T b) {
  return c ? a : b;
}

template <class T>
TN_HD bool isnan(T a) {
  return a != a;
}
template <class T>
TN_HD bool isinf(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return a == std::numeric_limits<T>::infinity() || a == -std::numeric_limits<T>::infinity();
  else
    return false;
}
template <class T>
TN_HD bool isfinite(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return a - a == T(0);
  else
    return true;
}
template <class T>
TN_HD bool signbit(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return std::signbit(a);
  else
    return a < T(0);
}
template <class T>
TN_HD T abs(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(a);
  else if constexpr (std::is_unsigned_v<T>)
    return a;
  else
    return a < T(0) ? static_cast<T>(T(0) - a) : a;
}
template <class T>
TN_HD T sign(T a) {
  return static_cast<T>((a > T(0)) - (a < T(0)));
}
template <class T>
TN_HD T copysign(T a, T b) {
  return std::copysign(a, b);
}

// NaN wins.
template <class T>
TN_HD T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
TN_HD T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}
// NaN loses.
template <class T>
TN_HD T fmax(T a, T b) {
  return a > b || b != b ? a : b;
}
template <class T>
TN_HD T fmin(T a, T b) {
  return a < b || b != b ? a : b;
}
// The upper bound wins where they cross.
template <class T>
TN_HD T clamp(T a, T lo, T hi) {
  const T x = a < lo ? lo : a;
  return x > hi ? hi : x;
}

// Division. A zero divisor of integers was refused before; INT_MIN / -1 wraps.
template <class T>
TN_HD T div_trunc(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::trunc(a / b);
  else if constexpr (std::is_signed_v<T>)
    return b == T(-1) ? static_cast<T>(T(0) - static_cast<std::make_unsigned_t<T>>(a))
                      : static_cast<T>(a / b);
  else
    return static_cast<T>(a / b);
}
// The sign of the divisor.
template <class T>
TN_HD T remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T m = std::fmod(a, b);
    return m != T(0) && (m < T(0)) != (b < T(0)) ? m + b : m;
  } else if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return T(0);
    const T m = static_cast<T>(a % b);
    return m != T(0) && (m < T(0)) != (b < T(0)) ? static_cast<T>(m + b) : m;
  } else {
    return static_cast<T>(a % b);
  }
}
// The sign of the dividend.
template <class T>
TN_HD T fmod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(a, b);
  else if constexpr (std::is_signed_v<T>)
    return b == T(-1) ? T(0) : static_cast<T>(a % b);
  else
    return static_cast<T>(a % b);
}
// As Python's //: found from the exact remainder, so that a quotient just below an integer stays
// below it.
template <class T>
TN_HD T div_floor(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == T(0)) return a / b;
    const T m = std::fmod(a, b);
    T q = (a - m) / b;
    if (m != T(0) && (b < T(0)) != (m < T(0))) q -= T(1);
    if (q == T(0)) return std::copysign(T(0), a / b);
    const T f = std::floor(q);
    return q - f > T(0.5) ? f + T(1) : f;
  } else if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return static_cast<T>(T(0) - static_cast<std::make_unsigned_t<T>>(a));
    const T q = static_cast<T>(a / b);
    return a % b != T(0) && (a < T(0)) != (b < T(0)) ? static_cast<T>(q - 1) : q;
  } else {
    return static_cast<T>(a / b);
  }
}

template <class T>
TN_HD T pow(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(a, b);
  } else if constexpr (std::is_same_v<T, bool>) {
    return a || !b;
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? (b % T(2) ? T(-1) : T(1)) : T(0);
    }
    uint64_t r = 1, x = static_cast<uint64_t>(a);
    for (uint64_t e = static_cast<uint64_t>(b); e; e >>= 1) {
      if (e & 1) r *= x;
      x *= x;
    }
    return static_cast<T>(r);
  }
}

template <class T>
TN_HD T bit_not(T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
template <class T>
TN_HD T bit_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
TN_HD T shift_left(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) << static_cast<int>(b));
}
template <class T>
TN_HD T shift_right(T a, T b) {
  return static_cast<T>(a >> static_cast<int>(b));
}
// The magnitude of the lowest integer fits the unsigned type only; as T it wraps to itself.
template <class T>
using Magnitude = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;
template <class T>
TN_HD Magnitude<T> magnitude(T a) {
  using U = Magnitude<T>;
  return static_cast<U>(a < T(0) ? U(0) - static_cast<U>(a) : static_cast<U>(a));
}
template <class T>
TN_HD Magnitude<T> common_divisor(T first, T second) {
  auto a = magnitude(first), b = magnitude(second);
  while (b != 0) {
    const auto m = static_cast<Magnitude<T>>(a % b);
    a = b;
    b = m;
  }
  return a;
}
template <class T>
TN_HD T gcd(T a, T b) {
  return static_cast<T>(common_divisor(a, b));
}
template <class T>
TN_HD T lcm(T a, T b) {
  const auto g = common_divisor(a, b);
  return g == 0 ? T(0)
                : abs(static_cast<T>(static_cast<uint64_t>(magnitude(a) / g) * magnitude(b)));
}

// 1 / (1 + e^-a) without overflow.
template <class T>
TN_HD T sigmoid(T a) {
  const T e = exp(-abs(a));
  return (a < T(0) ? e : T(1)) / (T(1) + e);
}
// e^a may vanish where a e^a does not.
template <class T>
TN_HD T silu(T a) {
  if (a > T(-80)) return a * sigmoid(a);
  const T half = exp(T(0.5) * a);
  return a * half * half;
}
// The derivative of silu. 1 - sigmoid(a) has no digits for a large a, sigmoid(-a) has all.
template <class T>
TN_HD T silu_slope(T a) {
  const T tail = sigmoid(-abs(a));
  return select(a > T(0), T(1) - tail, tail) + a * tail * (T(1) - tail);
}
// log(1 + e^-|a|): the smooth part of softplus and log_sigmoid.
template <class T>
TN_HD T log1p_exp_minus_abs(T a) {
  return log1p(exp(-abs(a)));
}
// The standard normal distribution function.
template <class T>
TN_HD T normal_cdf(T a) {
  return T(0.5) * erfc(a * T(-0.70710678118654752440));
}
template <class T>
TN_HD T gelu_erf(T a) {
  return a * normal_cdf(a);
}
template <class T>
TN_HD T gelu_tanh(T a) {
  return a * sigmoid(T(1.5957691216057308) * (a + T(0.044715) * a * a * a));
}
// The derivative of gelu_tanh: s + a s (1 - s) u' with s = sigmoid(u); 0 and 1 beyond the bounds.
template <class T>
TN_HD T gelu_tanh_slope(T a) {
  const T x = clamp(a, T(-30), T(14)), square = x * x;
  const T u = T(1.5957691216057308) * (x + T(0.044715) * square * x), tail = sigmoid(-abs(u));
  return select(u > T(0), T(1) - tail, tail) +
         x * tail * (T(1) - tail) * (T(1.5957691216057308) + T(0.214064448817800746) * square);
}

template <class T>
TN_HD T logaddexp(T a, T b) {
  if (isinf(a) && a == b) return a;
  const T m = maximum(a, b);
  return m + log1p(exp(-abs(a - b)));
}
template <class T>
TN_HD T xlogy(T a, T b) {
  return b != b ? b : a == T(0) ? T(0) : a * log(b);
}

// Winitzki's closed form (2008) and Halley steps, in double. Near one the steps are on erfc, which
// keeps the digits that erf loses.
template <class T>
TN_HD T erfinv(T a) {
  const double x = static_cast<double>(a), size = std::fabs(x);
  if (!(size < 1))
    return size == 1 ? a * std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
  const double w = -std::log1p(-size * size), k = 2 / (3.14159265358979323846 * 0.147) - 0.5 * w;
  double y = w < 1e-3 ? size * 0.886226925452758 : std::sqrt(std::sqrt(k * k + w / 0.147) - k);
  for (int i = 0; i < 4; ++i) {
    const double e = y < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const double u = e / (1.1283791670955125739 * std::exp(-y * y));
    y -= u / (1 + y * u);
  }
  return static_cast<T>(std::copysign(y, x));
}

// Reflection for negative numbers, recurrence up to 10, then the asymptotic series.
template <class T>
TN_HD T digamma(T a) {
  double x = static_cast<double>(a), r = 0;
  if (x == 0) return std::copysign(std::numeric_limits<T>::infinity(), -a);
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<T>::quiet_NaN();
    // The distance to the nearest integer is exact; that to the one below has lost a small x.
    r = -3.14159265358979323846 / std::tan(3.14159265358979323846 * (x - std::nearbyint(x)));
    x = 1 - x;
  }
  while (x < 10) {
    r -= 1 / x;
    x += 1;
  }
  const double z = 1 / (x * x);
  const double tail =
      z *
      (1.0 / 12 -
       z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
  return static_cast<T>(r + std::log(x) - 0.5 / x - tail);
}

// The modified Bessel function of order 0: its power series below 20, where all terms are positive,
// then Hankel's. NaN at infinity, as in ATen.
template <class T>
TN_HD T i0(T a) {
  const double x = std::fabs(static_cast<double>(a));
  if (isinf(a)) return std::numeric_limits<T>::quiet_NaN();
  if (x > 1000)
    return std::numeric_limits<T>::infinity();  // beyond, the square root below overflows, too
  if (x < 20) {
    double term = 1, sum = 1;
    for (int k = 1; k < 80 && term > 1e-18 * sum; ++k) {
      const double h = x / (2 * k);
      term *= h * h;
      sum += term;
    }
    return static_cast<T>(sum);
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 24; ++k) {
    term *= (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x);
    sum += term;
    if (term < 1e-17) break;
  }
  // e^x alone overflows before the result does, and a logarithm in the exponent loses digits of x.
  const double half = std::exp(0.5 * x);
  return static_cast<T>(half * (sum / std::sqrt(6.28318530717958647692 * x)) * half);
}

}  // namespace tenon::sdk::math

// Makes the names visible to an expression, ahead of the C library's functions of the same names.
#define TN_MATH_USING                   \
  using sdk::math::abs;                 \
  using sdk::math::acos;                \
  using sdk::math::acosh;               \
  using sdk::math::asin;                \
  using sdk::math::asinh;               \
  using sdk::math::atan;                \
  using sdk::math::atan2;               \
  using sdk::math::atanh;               \
  using sdk::math::bit_not;             \
  using sdk::math::bit_or;              \
  using sdk::math::ceil;                \
  using sdk::math::clamp;               \
  using sdk::math::copysign;            \
  using sdk::math::cos;                 \
  using sdk::math::cosh;                \
  using sdk::math::div_floor;           \
  using sdk::math::div_trunc;           \
  using sdk::math::erf;                 \
  using sdk::math::erfc;                \
  using sdk::math::exp;                 \
  using sdk::math::exp2;                \
  using sdk::math::expm1;               \
  using sdk::math::floor;               \
  using sdk::math::fmax;                \
  using sdk::math::fmin;                \
  using sdk::math::fmod;                \
  using sdk::math::gcd;                 \
  using sdk::math::gelu_erf;            \
  using sdk::math::gelu_tanh;           \
  using sdk::math::gelu_tanh_slope;     \
  using sdk::math::hypot;               \
  using sdk::math::isfinite;            \
  using sdk::math::isinf;               \
  using sdk::math::isnan;               \
  using sdk::math::lcm;                 \
  using sdk::math::lgamma;              \
  using sdk::math::log;                 \
  using sdk::math::log10;               \
  using sdk::math::log1p;               \
  using sdk::math::log2;                \
  using sdk::math::log1p_exp_minus_abs; \
  using sdk::math::normal_cdf;          \
  using sdk::math::sigmoid;             \
  using sdk::math::silu;                \
  using sdk::math::silu_slope;          \
  using sdk::math::maximum;             \
  using sdk::math::minimum;             \
  using sdk::math::nextafter;           \
  using sdk::math::pow;                 \
  using sdk::math::remainder;           \
  using sdk::math::round;               \
  using sdk::math::select;              \
  using sdk::math::shift_left;          \
  using sdk::math::shift_right;         \
  using sdk::math::sign;                \
  using sdk::math::signbit;             \
  using sdk::math::sin;                 \
  using sdk::math::sinh;                \
  using sdk::math::digamma;             \
  using sdk::math::erfinv;              \
  using sdk::math::i0;                  \
  using sdk::math::logaddexp;           \
  using sdk::math::xlogy;               \
  using sdk::math::sqrt;                \
  using sdk::math::tan;                 \
  using sdk::math::tanh;                \
  using sdk::math::trunc;
