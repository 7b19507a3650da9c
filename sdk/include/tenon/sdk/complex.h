// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Complex numbers as elements of tensors: real part first. Arithmetic is for host and device and
// has the plain formulas, without C's special cases for products of infinities; the functions are
// those of <complex>, on the host.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "tenon/sdk/hd.h"

namespace tenon::sdk {

template <class T>
struct complex {
  using value_type = T;
  T re, im;

  complex() = default;
  TN_HD constexpr complex(T r, T i = T()) : re(r), im(i) {}
  template <class U>
  TN_HD constexpr explicit complex(const complex<U>& c)
      : re(static_cast<T>(c.re)), im(static_cast<T>(c.im)) {}
  complex(const std::complex<T>& c) : re(c.real()), im(c.imag()) {}
  operator std::complex<T>() const { return {re, im}; }

  TN_HD constexpr complex operator-() const { return {-re, -im}; }
  TN_HD friend constexpr complex operator+(complex a, complex b) {
    return {a.re + b.re, a.im + b.im};
  }
  TN_HD friend constexpr complex operator-(complex a, complex b) {
    return {a.re - b.re, a.im - b.im};
  }
  TN_HD friend constexpr complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's method (1962): scaled by the larger part of b, so that no square overflows.
  TN_HD friend complex operator/(complex a, complex b) {
    const T r = b.re < 0 ? -b.re : b.re, i = b.im < 0 ? -b.im : b.im;
    if (r == 0 && i == 0) return {a.re / r, a.im / r};
    if (r >= i) {
      const T q = b.im / b.re, d = b.re + b.im * q;
      return {(a.re + a.im * q) / d, (a.im - a.re * q) / d};
    }
    const T q = b.re / b.im, d = b.re * q + b.im;
    return {(a.re * q + a.im) / d, (a.im * q - a.re) / d};
  }
  TN_HD complex& operator+=(complex b) { return *this = *this + b; }
  TN_HD complex& operator*=(complex b) { return *this = *this * b; }
  TN_HD friend constexpr bool operator==(complex a, complex b) {
    return a.re == b.re && a.im == b.im;
  }
  TN_HD friend constexpr bool operator!=(complex a, complex b) { return !(a == b); }
};

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<complex<T>> = true;

using Complex64 = complex<float>;
using Complex128 = complex<double>;

namespace math {

#define TN_COMPLEX_1(name)                             \
  template <class T>                                   \
  complex<T> name(complex<T> a) {                      \
    return std::name(static_cast<std::complex<T>>(a)); \
  }
TN_COMPLEX_1(exp)
TN_COMPLEX_1(sqrt)
TN_COMPLEX_1(sin)
TN_COMPLEX_1(cos)
TN_COMPLEX_1(tan)
TN_COMPLEX_1(asin)
TN_COMPLEX_1(acos)
TN_COMPLEX_1(atan)
TN_COMPLEX_1(sinh)
TN_COMPLEX_1(cosh)
TN_COMPLEX_1(tanh)
TN_COMPLEX_1(asinh)
TN_COMPLEX_1(acosh)
TN_COMPLEX_1(atanh)
TN_COMPLEX_1(log10)
TN_COMPLEX_1(log)
#undef TN_COMPLEX_1

template <class T>
complex<T> log2(complex<T> a) {
  const complex<T> l = log(a);
  return {l.re / T(0.69314718055994530942), l.im / T(0.69314718055994530942)};
}
// 2^a = e^(a ln 2)
template <class T>
complex<T> exp2(complex<T> a) {
  return exp(complex<T>(a.re * T(0.69314718055994530942), a.im * T(0.69314718055994530942)));
}
// e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y / 2), which keeps the digits near zero.
template <class T>
complex<T> expm1(complex<T> a) {
  if (a.im == 0) return {std::expm1(a.re), a.im};
  const T half = std::sin(a.im / 2);
  return {std::expm1(a.re) * std::cos(a.im) - 2 * half * half, std::exp(a.re) * std::sin(a.im)};
}
// log|1 + a| = log1p(x (2 + x) + y^2) / 2 for small a.
template <class T>
complex<T> log1p(complex<T> a) {
  const T angle = std::atan2(a.im, a.re + T(1));
  if (std::fabs(a.re) + std::fabs(a.im) < T(0.5))
    return {T(0.5) * std::log1p(a.re * (T(2) + a.re) + a.im * a.im), angle};
  return {std::log(std::hypot(a.re + T(1), a.im)), angle};
}
template <class T>
complex<T> pow(complex<T> a, complex<T> b) {
  if (b == complex<T>(T(0))) return T(1);
  if (a == complex<T>(T(0))) {
    if (b.im == 0 && b.re > 0) return T(0);
    if (b.im != 0) return {std::nan(""), std::nan("")};
  }
  if (b.im == 0 && std::fabs(b.re) <= T(64) && b.re == std::trunc(b.re)) {
    complex<T> r(T(1)), x = b.re < 0 ? complex<T>(T(1)) / a : a;
    for (int n = static_cast<int>(std::fabs(b.re)); n; n >>= 1) {
      if (n & 1) r = r * x;
      x = x * x;
    }
    return r;
  }
  return std::pow(static_cast<std::complex<T>>(a), static_cast<std::complex<T>>(b));
}
// 1 / (1 + e^-a)
template <class T>
complex<T> sigmoid(complex<T> a) {
  return complex<T>(T(1)) / (complex<T>(T(1)) + exp(-a));
}
template <class T>
complex<T> silu(complex<T> a) {
  return a / (complex<T>(T(1)) + exp(-a));
}
template <class T>
bool isnan(complex<T> a) {
  return a.re != a.re || a.im != a.im;
}
template <class T>
bool isinf(complex<T> a) {
  return std::isinf(a.re) || std::isinf(a.im);
}
template <class T>
bool isfinite(complex<T> a) {
  return std::isfinite(a.re) && std::isfinite(a.im);
}
template <class T>
complex<T> conj(complex<T> a) {
  return {a.re, -a.im};
}
// The modulus.
template <class T>
T magnitude(complex<T> a) {
  return std::hypot(a.re, a.im);
}
// Without an error for zero: a / |a|, or 0.
template <class T>
complex<T> sgn(complex<T> a) {
  const T m = magnitude(a);
  if (m == 0) return T(0);
  return {a.re / m, a.im / m};
}
template <class T>
complex<T> xlogy(complex<T> a, complex<T> b) {
  if (isnan(b)) return b;
  return a == complex<T>(T(0)) ? complex<T>(T(0)) : a * log(b);
}

}  // namespace math

}  // namespace tenon::sdk
