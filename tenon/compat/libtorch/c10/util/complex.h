// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// As libtorch does, functions of c10::complex are overloads in std.
#pragma once

#include <torch/namespaces.h>

#include <complex>
#include <type_traits>

#include "tenon/core/complex.h"

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
tenon::core::complex<T> pow(const tenon::core::complex<T>& z, const tenon::core::complex<T>& w) {
  return std::pow(std::complex<T>(z), std::complex<T>(w));
}
template <class T>
tenon::core::complex<T> pow(const tenon::core::complex<T>& z, const T& x) {
  return std::pow(std::complex<T>(z), x);
}

#define TENON_COMPLEX_FUNCTION(f)                               \
  template <class T>                                            \
  tenon::core::complex<T> f(const tenon::core::complex<T>& z) { \
    return tenon::core::complex<T>(std::f(std::complex<T>(z))); \
  }
TENON_COMPLEX_FUNCTION(conj)
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

}  // namespace std
