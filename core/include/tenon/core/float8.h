// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Floats of eight bits as storage types: conversions to and from float, round to nearest, ties to
// even. The names say how many bits of exponent and mantissa there are; fn: no infinity, one NaN;
// fnuz: no negative zero either, whose bits are NaN; e8m0fnu: a power of two without a sign. They
// are those of the Open Compute Project's OFP8 and MX specifications.
#pragma once

#include <cstdint>

#include "tenon/runtime/export.h"

namespace tenon {
namespace core {

struct SmallFloat {
  int bits, mantissa, bias;
  bool has_infinity, only_one_nan, nan_is_negative_zero, is_signed;
};
inline constexpr SmallFloat kE5M2{8, 2, 15, true, false, false, true};
inline constexpr SmallFloat kE4M3FN{8, 3, 7, false, true, false, true};
inline constexpr SmallFloat kE5M2FNUZ{8, 2, 16, false, false, true, true};
inline constexpr SmallFloat kE4M3FNUZ{8, 3, 8, false, false, true, true};
inline constexpr SmallFloat kE8M0FNU{8, 0, 127, false, true, false, false};

TENON_API float decode(const SmallFloat& format, uint8_t bits);
// Beyond the largest: infinity; where the format has none, NaN for fnuz and e8m0fnu, and the
// largest for e4m3fn, as torch 2.15 has it.
TENON_API uint8_t encode(const SmallFloat& format, float value);

template <const SmallFloat& format>
struct Float8 {
  uint8_t x;
  Float8() = default;
  Float8(float f) : x(encode(format, f)) {}
  struct from_bits_t {};
  constexpr Float8(uint8_t bits, from_bits_t) : x(bits) {}
  static constexpr from_bits_t from_bits() { return {}; }
  operator float() const { return decode(format, x); }
};

}  // namespace core

using Float8_e5m2 = core::Float8<core::kE5M2>;
using Float8_e4m3fn = core::Float8<core::kE4M3FN>;
using Float8_e5m2fnuz = core::Float8<core::kE5M2FNUZ>;
using Float8_e4m3fnuz = core::Float8<core::kE4M3FNUZ>;
using Float8_e8m0fnu = core::Float8<core::kE8M0FNU>;

}  // namespace tenon
