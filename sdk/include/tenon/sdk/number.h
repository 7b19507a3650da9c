// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Conversions of scalars to integer dtypes.
#pragma once

#include <limits>
#include <string>

#include "tenon/sdk/kernel.h"

namespace tenon::sdk {

// Converts, truncating a fraction. Negative integers may wrap to an unsigned dtype, as in -1 for
// its highest value; any other value that T cannot hold is an error.
template <class T>
T checked(const Scalar& s) {
  using L = std::numeric_limits<T>;
  bool fits;
  if (s.is_float()) {
    const double v = s.to<double>();
    fits = v >= static_cast<double>(L::lowest()) &&
           (sizeof(T) < 8 ? v <= static_cast<double>(L::max()) : v < 0x1p63);
  } else {
    const int64_t v = s.to<int64_t>(), max = static_cast<int64_t>(L::max());
    fits = v >= (L::is_signed ? static_cast<int64_t>(L::lowest()) : -max) && v <= max;
  }
  if (!fits) {
    throw Error(TN_ERROR_VALUE, "value ",
                s.is_float() ? std::to_string(s.to<double>()) : std::to_string(s.to<int64_t>()),
                " cannot be converted to ", L::is_signed ? "int" : "uint", sizeof(T) * 8,
                " without overflow");
  }
  return s.to<T>();
}

// Clamps to T's range, as for a bound that T cannot hold. A float is compared as double, since it
// may be beyond int64.
template <class T>
T limited(const Scalar& s) {
  using L = std::numeric_limits<T>;
  if (s.is_float()) {
    const double v = s.to<double>();
    if (!(v > static_cast<double>(L::lowest()))) return L::lowest();
    if (v >= static_cast<double>(L::max())) return L::max();
  } else {
    const int64_t v = s.to<int64_t>();
    if (v < static_cast<int64_t>(L::lowest())) return L::lowest();
    if (v > static_cast<int64_t>(L::max())) return L::max();
  }
  return s.to<T>();
}

inline Scalar limited(const Scalar& s, DType dtype) {
  if (!is_integral(dtype)) return s;
  return dispatch_integral(
      dtype, [&](auto tag) { return Scalar::of(static_cast<int64_t>(limited<tn_type(tag)>(s))); });
}

}  // namespace tenon::sdk
