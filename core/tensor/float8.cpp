// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/float8.h"

#include <cmath>
#include <limits>

#include "tenon/core/half.h"

namespace tenon::core {
namespace {

constexpr uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u;

// The exponent's field, rounded by the upper bit of the mantissa; a tie goes up where the field is
// not zero, whose implied bit is odd.
uint8_t encode_exponent(uint32_t magnitude) {
  if (magnitude >= kInfinity) return 0xff;
  const uint32_t field = magnitude >> 23, half = 0x400000u, rest = magnitude & 0x7fffffu;
  return static_cast<uint8_t>(field + (rest > half || (rest == half && field > 0)));
}

// The bits without a sign of a finite number, in a grid that goes on beyond the largest one.
uint32_t encode_magnitude(const SmallFloat& f, uint32_t magnitude) {
  const int drop = 23 - f.mantissa;
  const uint32_t smallest = static_cast<uint32_t>(128 - f.bias) << 23;  // the least normal one
  if (magnitude >= smallest) {
    const uint32_t odd = magnitude >> drop & 1u;
    return (magnitude - (static_cast<uint32_t>(127 - f.bias) << 23) + (1u << (drop - 1)) - 1 +
            odd) >>
           drop;
  }
  const float unit = std::ldexp(1.0f, 1 - f.bias - f.mantissa);
  return static_cast<uint32_t>(std::nearbyint(bits_to_float(magnitude) / unit));
}

}  // namespace

float decode(const SmallFloat& f, uint8_t bits) {
  const int sign_bits = f.is_signed ? 1 : 0;
  const int top = (1 << (f.bits - f.mantissa - sign_bits)) - 1, full = (1 << f.mantissa) - 1;
  const bool negative = f.is_signed && (bits >> (f.bits - 1) & 1) != 0;
  const int exponent = bits >> f.mantissa & top, mantissa = bits & full;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if (f.nan_is_negative_zero && negative && exponent == 0 && mantissa == 0) return kNaN;
  if (f.only_one_nan && exponent == top && mantissa == full) return kNaN;
  float value;
  if (f.has_infinity && exponent == top)
    value = mantissa == 0 ? std::numeric_limits<float>::infinity() : kNaN;
  else if (exponent == 0 && f.is_signed)
    value = std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa);
  else
    value = std::ldexp(static_cast<float>(mantissa + full + 1), exponent - f.bias - f.mantissa);
  return negative ? -value : value;
}

uint8_t encode(const SmallFloat& f, float value) {
  const uint32_t bits = float_to_bits(value), magnitude = bits & ~kSign;
  if (!f.is_signed) return encode_exponent(magnitude);
  const auto sign = static_cast<uint32_t>((bits & kSign) != 0) << (f.bits - 1);
  const uint32_t ones = (1u << (f.bits - 1)) - 1;
  const uint32_t nan = f.nan_is_negative_zero ? ones + 1 : ones | sign;
  if (magnitude > kInfinity) return static_cast<uint8_t>(nan);
  // The first bits after the largest number: a value that rounds to them or is larger becomes them
  // or, where the only NaN is there, the largest number.
  const uint32_t beyond = f.has_infinity           ? (ones >> f.mantissa) << f.mantissa
                          : f.nan_is_negative_zero ? ones + 1
                                                   : ones;
  const uint32_t found = magnitude >= kInfinity ? beyond : encode_magnitude(f, magnitude);
  if (found >= beyond) {
    return static_cast<uint8_t>(f.has_infinity   ? beyond | sign
                                : f.only_one_nan ? (beyond - 1) | sign
                                                 : nan);
  }
  return static_cast<uint8_t>(found == 0 && f.nan_is_negative_zero ? 0 : found | sign);
}

}  // namespace tenon::core
