// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operands and parameters of the operators of pointwise.def, and the checks of operands that it
// names.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "tenon/sdk/hd.h"
#include "tenon/sdk/number.h"

namespace tenon::sdk::pointwise {

// What an integer as the last operand must not be: zero, or a shift count that is out of range.
enum class Guard : uint8_t { None, Divisor, Shift };
enum class Limit : uint8_t { None, Lowest, Highest };

// A tensor, or a number in its place.
struct Operand {
  Tensor tensor;
  Scalar number;
  Operand(Tensor t) : tensor(t) {}
  Operand(Scalar s) : number(s) {}
};

// A number of the op; an absent bound becomes the dtype's own.
struct Param {
  Scalar value;
  Limit limit = Limit::None;
  bool saturate = false;
  Param(Scalar s) : value(s) {}
  Param(double v) : value(Scalar::of(v)) {}
  Param(int64_t v) : value(Scalar::of(v)) {}
  Param(const std::optional<Scalar>& s, Limit if_none) : saturate(true) {
    if (s)
      value = *s;
    else
      limit = if_none;
  }
};

// The number in the type of the computation.
template <class T>
T convert(const Param& p) {
  using L = std::numeric_limits<T>;
  if constexpr (is_complex_v<T>) return p.value.to<T>();
  if (p.limit == Limit::Lowest)
    return L::has_infinity ? static_cast<T>(-L::infinity()) : L::lowest();
  if (p.limit == Limit::Highest) return L::has_infinity ? L::infinity() : L::max();
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return p.saturate ? limited<T>(p.value) : checked<T>(p.value);
  } else {
    return p.value.to<T>();
  }
}

// Whether the guard refuses this operand; it is not Guard::None.
template <class T>
TN_HD bool violates(Guard guard, T v) {
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bool> || is_complex_v<T>) {
    return false;
  } else {
    if (guard == Guard::Divisor) return v == T(0);
    return v < T(0) || static_cast<uint64_t>(v) >= sizeof(T) * 8;
  }
}

// The error of an operand that violates the guard.
[[noreturn]] inline void refuse_operand(Guard guard) {
  if (guard == Guard::Divisor)
    throw Error(TN_ERROR, "ZeroDivisionError: division by zero of integers");
  throw Error(TN_ERROR_VALUE, "a shift count is negative or not less than the number of bits");
}

}  // namespace tenon::sdk::pointwise
