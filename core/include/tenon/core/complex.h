// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The element type of complex32, complex64 and complex128: two numbers side by side, real part
// first, as std::complex and C have them. Its multiplication and division are the plain formulas,
// without the special cases for infinities that C's Annex G has. tenon::complex is a function, of
// tensors.
#pragma once

#include <complex>
#include <ostream>
#include <type_traits>

#include "tenon/core/half.h"

namespace tenon {
namespace core {

template <class T>
struct complex {
  using value_type = T;

  constexpr complex(T re = T(), T im = T()) : real_(re), imag_(im) {}
  // Implicit only to the wider one.
  template <class U, std::enable_if_t<(sizeof(U) < sizeof(T)), int> = 0>
  constexpr complex(const complex<U>& c) : real_(c.real()), imag_(c.imag()) {}
  template <class U, std::enable_if_t<(sizeof(U) > sizeof(T)), int> = 0>
  constexpr explicit complex(const complex<U>& c)
      : real_(static_cast<T>(c.real())), imag_(static_cast<T>(c.imag())) {}
  template <class U>
  constexpr complex(const std::complex<U>& c)
      : real_(static_cast<T>(c.real())), imag_(static_cast<T>(c.imag())) {}
  constexpr operator std::complex<T>() const { return {real_, imag_}; }

  constexpr T real() const { return real_; }
  constexpr T imag() const { return imag_; }
  constexpr void real(T v) { real_ = v; }
  constexpr void imag(T v) { imag_ = v; }

  constexpr complex operator-() const { return {-real_, -imag_}; }
  constexpr complex operator+() const { return *this; }
  constexpr complex& operator+=(const complex& b) { return *this = *this + b; }
  constexpr complex& operator-=(const complex& b) { return *this = *this - b; }
  constexpr complex& operator*=(const complex& b) { return *this = *this * b; }
  constexpr complex& operator/=(const complex& b) { return *this = *this / b; }

  friend constexpr complex operator+(const complex& a, const complex& b) {
    return {a.real_ + b.real_, a.imag_ + b.imag_};
  }
  friend constexpr complex operator-(const complex& a, const complex& b) {
    return {a.real_ - b.real_, a.imag_ - b.imag_};
  }
  friend constexpr complex operator*(const complex& a, const complex& b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }
  // As std::complex divides; by the plain formula where the compiler does it.
  friend constexpr complex operator/(const complex& a, const complex& b) {
    if (!__builtin_is_constant_evaluated()) return std::complex<T>(a) / std::complex<T>(b);
    const T d = b.real_ * b.real_ + b.imag_ * b.imag_;
    return {(a.real_ * b.real_ + a.imag_ * b.imag_) / d,
            (a.imag_ * b.real_ - a.real_ * b.imag_) / d};
  }
  friend constexpr bool operator==(const complex& a, const complex& b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  friend constexpr bool operator!=(const complex& a, const complex& b) { return !(a == b); }
  // "(1,2)"
  friend std::ostream& operator<<(std::ostream& out, const complex& c) {
    return out << std::complex<T>(c);
  }

 private:
  T real_, imag_;
};

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<complex<T>> = true;

}  // namespace core

using Complex32 = core::complex<Half>;
using Complex64 = core::complex<float>;
using Complex128 = core::complex<double>;

}  // namespace tenon
