// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// As libtorch does, functions of c10::complex are overloads in std.
#pragma once

#include <torch/namespaces.h>

#include <cmath>
#include <complex>
#include <istream>
#include <type_traits>

#include "tenon/core/complex.h"

namespace tenon::core {

// "(1,2)", "(1)" or "1".
template <class T>
std::istream& operator>>(std::istream& in, complex<T>& z) {
  std::complex<T> read;
  if (in >> read) z = complex<T>(read);
  return in;
}

}  // namespace tenon::core

namespace c10 {

template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<std::complex<T>> : std::true_type {};
template <class T>
struct is_complex<complex<T>> : std::true_type {};

// double of complex<double>, and of double.
template <class T>
struct scalar_value_type {
  using type = T;
};
template <class T>
struct scalar_value_type<std::complex<T>> {
  using type = T;
};
template <class T>
struct scalar_value_type<complex<T>> {
  using type = T;
};

template <class T>
complex<T> polar(const T& r, const T& theta = T()) {
  return std::polar(r, theta);
}

// 0.5_if and 0.5_id are imaginary.
namespace complex_literals {
constexpr complex<float> operator""_if(long double v) { return {0, static_cast<float>(v)}; }
constexpr complex<float> operator""_if(unsigned long long v) { return {0, static_cast<float>(v)}; }
constexpr complex<double> operator""_id(long double v) { return {0, static_cast<double>(v)}; }
constexpr complex<double> operator""_id(unsigned long long v) {
  return {0, static_cast<double>(v)};
}
}  // namespace complex_literals

}  // namespace c10

namespace at {
using c10::scalar_value_type;
}

namespace std {  // NOLINT(cert-dcl58-cpp): libtorch's programs call them there

template <class T>
constexpr T real(const tenon::core::complex<T>& z) {
  return z.real();
}
template <class T>
constexpr T imag(const tenon::core::complex<T>& z) {
  return z.imag();
}
template <class T>
T abs(const tenon::core::complex<T>& z) {
  return std::abs(std::complex<T>(z));
}
template <class T>
T arg(const tenon::core::complex<T>& z) {
  return std::arg(std::complex<T>(z));
}
template <class T>
T norm(const tenon::core::complex<T>& z) {
  return std::norm(std::complex<T>(z));
}
template <class T>
tenon::core::complex<T> conj(const tenon::core::complex<T>& z) {
  return {z.real(), -z.imag()};
}
template <class T>
tenon::core::complex<T> proj(const tenon::core::complex<T>& z) {
  return std::proj(std::complex<T>(z));
}

}  // namespace std
#undef TENON_COMPLEX_FUNCTIONS

// These libtorch has in the global namespace, too.
namespace tenon::compat::complex_math {

#define TENON_COMPLEX_FUNCTION(f)                        \
  template <class T>                                     \
  core::complex<T> f(const core::complex<T>& z) {        \
    return core::complex<T>(std::f(std::complex<T>(z))); \
  }
TENON_COMPLEX_FUNCTION(exp)
TENON_COMPLEX_FUNCTION(log)
TENON_COMPLEX_FUNCTION(log10)
TENON_COMPLEX_FUNCTION(sqrt)
TENON_COMPLEX_FUNCTION(sin)
TENON_COMPLEX_FUNCTION(cos)
TENON_COMPLEX_FUNCTION(tan)
TENON_COMPLEX_FUNCTION(asin)
TENON_COMPLEX_FUNCTION(acos)
TENON_COMPLEX_FUNCTION(atan)
TENON_COMPLEX_FUNCTION(sinh)
TENON_COMPLEX_FUNCTION(cosh)
TENON_COMPLEX_FUNCTION(tanh)
TENON_COMPLEX_FUNCTION(asinh)
TENON_COMPLEX_FUNCTION(acosh)
TENON_COMPLEX_FUNCTION(atanh)
#undef TENON_COMPLEX_FUNCTION

template <class T>
core::complex<T> log2(const core::complex<T>& z) {
  return log(z) / core::complex<T>(std::log(T(2)));
}
template <class T>
core::complex<T> log1p(const core::complex<T>& z) {
  return log(core::complex<T>(1) + z);
}
template <class T>
core::complex<T> expm1(const core::complex<T>& z) {
  return exp(z) - core::complex<T>(1);
}

// A power has the wider of both types.
template <class T, class U>
using Wider = std::conditional_t<(sizeof(T) < sizeof(U)), U, T>;
template <class T, class U>
core::complex<Wider<T, U>> pow(const core::complex<T>& z, const core::complex<U>& w) {
  using C = std::complex<Wider<T, U>>;
  return std::pow(C(core::complex<Wider<T, U>>(z)), C(core::complex<Wider<T, U>>(w)));
}
template <class T, class U, std::enable_if_t<std::is_arithmetic_v<U>, int> = 0>
auto pow(const core::complex<T>& z, const U& x) {
  if constexpr (std::is_integral_v<U>)
    return core::complex<T>(std::pow(std::complex<T>(z), T(x)));
  else
    return pow(z, core::complex<U>(x));
}
template <class T, class U, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
auto pow(const T& x, const core::complex<U>& z) {
  if constexpr (std::is_integral_v<T>)
    return pow(core::complex<U>(U(x)), z);
  else
    return pow(core::complex<T>(x), z);
}

}  // namespace tenon::compat::complex_math

#define TENON_COMPLEX_FUNCTIONS             \
  using tenon::compat::complex_math::acos;  \
  using tenon::compat::complex_math::acosh; \
  using tenon::compat::complex_math::asin;  \
  using tenon::compat::complex_math::asinh; \
  using tenon::compat::complex_math::atan;  \
  using tenon::compat::complex_math::atanh; \
  using tenon::compat::complex_math::cos;   \
  using tenon::compat::complex_math::cosh;  \
  using tenon::compat::complex_math::exp;   \
  using tenon::compat::complex_math::expm1; \
  using tenon::compat::complex_math::log;   \
  using tenon::compat::complex_math::log10; \
  using tenon::compat::complex_math::log1p; \
  using tenon::compat::complex_math::log2;  \
  using tenon::compat::complex_math::pow;   \
  using tenon::compat::complex_math::sin;   \
  using tenon::compat::complex_math::sinh;  \
  using tenon::compat::complex_math::sqrt;  \
  using tenon::compat::complex_math::tan;   \
  using tenon::compat::complex_math::tanh
TENON_COMPLEX_FUNCTIONS;
namespace std {  // NOLINT(cert-dcl58-cpp): as above
TENON_COMPLEX_FUNCTIONS;
}  // namespace std
#undef TENON_COMPLEX_FUNCTIONS
