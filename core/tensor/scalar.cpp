// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/scalar.h"

#include <cmath>

#include "tenon/runtime/error.h"

namespace tenon {

Scalar Scalar::from_abi(const tn_value& value) {
  Scalar number;
  number.tag_ = value.tag;
  switch (value.tag) {
    case TN_TAG_I64:
      number.i_ = value.u.i64;
      break;
    case TN_TAG_BOOL:
      number.i_ = value.u.i64 != 0;
      break;
    case TN_TAG_F64:
      number.f_ = value.u.f64;
      break;
    case TN_TAG_COMPLEX:
      number.c_[0] = value.u.f64s[0];
      number.c_[1] = value.u.f64s[1];
      break;
    default:
      throw TypeError(core::join("expected a number, got a value with tag ", value.tag));
  }
  return number;
}

void Scalar::check_real() const {
  TENON_CHECK(c_[1] == 0, ValueError, "the complex number (", c_[0], ",", c_[1],
              ") has an imaginary part, which a real type cannot hold");
}

void Scalar::check_range(int64_t given, int64_t kept) {
  TENON_CHECK(given == kept, ValueError, "the number ", given,
              " does not fit the integer type asked for");
}

// The bounds are powers of two, which a double holds exactly; the upper one is excluded.
void Scalar::check_integral(double v, std::size_t bytes, bool is_signed) {
  int bits = static_cast<int>(bytes) * 8 - (is_signed ? 1 : 0);
  double whole = std::trunc(v);
  double high = std::ldexp(1.0, bits);
  bool fits = whole < high && whole >= (is_signed ? -high : 0.0);  // false for NaN
  TENON_CHECK(fits, ValueError, "the number ", v, " does not fit ",
              is_signed ? "a signed" : "an unsigned", " integer of ", bytes * 8, " bits");
}

}  // namespace tenon
