// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the floats of 16 and 8 bits: computed in float, and rounded. With an integer it
// gives the small float, with a float or double that.
#pragma once

#include <torch/namespaces.h>

#include <type_traits>

#include "tenon/core/float8.h"
#include "tenon/core/half.h"

namespace tenon {

#define TENON_FLOAT_ARITHMETIC(T, op)                                              \
  inline T operator op(T a, T b) {                                                 \
    return static_cast<T>(static_cast<float>(a) op static_cast<float>(b));         \
  }                                                                                \
  inline float operator op(T a, float b) { return static_cast<float>(a) op b; }    \
  inline float operator op(float a, T b) { return a op static_cast<float>(b); }    \
  inline double operator op(T a, double b) { return static_cast<double>(a) op b; } \
  inline double operator op(double a, T b) { return a op static_cast<double>(b); } \
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>  \
  T operator op(T a, Integer b) {                                                  \
    return a op static_cast<T>(static_cast<float>(b));                             \
  }                                                                                \
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>  \
  T operator op(Integer a, T b) {                                                  \
    return static_cast<T>(static_cast<float>(a)) op b;                             \
  }                                                                                \
  inline T& operator op##=(T& a, const T& b) { return a = a op b; }
#define TENON_FLOAT_OPERATORS(T) \
  TENON_FLOAT_ARITHMETIC(T, +)   \
  TENON_FLOAT_ARITHMETIC(T, -)   \
  TENON_FLOAT_ARITHMETIC(T, *)   \
  TENON_FLOAT_ARITHMETIC(T, /)   \
  inline T operator-(T a) { return static_cast<T>(-static_cast<float>(a)); }
TENON_FLOAT_OPERATORS(Half)
TENON_FLOAT_OPERATORS(BFloat16)
TENON_FLOAT_OPERATORS(Float8_e5m2)
TENON_FLOAT_OPERATORS(Float8_e4m3fn)
TENON_FLOAT_OPERATORS(Float8_e5m2fnuz)
TENON_FLOAT_OPERATORS(Float8_e4m3fnuz)
#undef TENON_FLOAT_OPERATORS
#undef TENON_FLOAT_ARITHMETIC

}  // namespace tenon
