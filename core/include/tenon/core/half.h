// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floats as storage types: conversions to and from float, round to nearest even.
// Arithmetic on them happens in float.
#pragma once

#include <cstdint>
#include <cstring>

namespace tenon {
namespace core {

inline float bits_to_float(uint32_t b) {
  float f;
  std::memcpy(&f, &b, 4);
  return f;
}
inline uint32_t float_to_bits(float f) {
  uint32_t b;
  std::memcpy(&b, &f, 4);
  return b;
}

inline uint16_t float_to_half_bits(float f) {
  uint32_t x = float_to_bits(f);
  uint32_t sign = x >> 16 & 0x8000u;
  x &= 0x7fffffffu;
  if (x > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | (x >> 13 & 0x3ffu));  // NaN stays quiet NaN
  if (x >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);   // 65536 and above, inf
  if (x < 0x38800000u) {  // subnormal or zero: let the float adder round
    float shifted = bits_to_float(x) + bits_to_float(0x3f000000u);
    return static_cast<uint16_t>(sign | (float_to_bits(shifted) - 0x3f000000u));
  }
  uint32_t odd = x >> 13 & 1u;
  x += 0xc8000fffu +
       odd;  // rebias the exponent and round to nearest even; a carry may reach infinity
  return static_cast<uint16_t>(sign | x >> 13);
}

inline float half_bits_to_float(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return bits_to_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest < 0x400u) {
    float f = static_cast<float>(rest) * 5.9604644775390625e-8f;  // 2^-24
    return bits_to_float(sign | float_to_bits(f));
  }
  return bits_to_float(sign | ((rest << 13) + 0x38000000u));
}

inline uint16_t float_to_bfloat_bits(float f) {
  uint32_t x = float_to_bits(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(x >> 16 | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + (x >> 16 & 1u)) >> 16);
}

}  // namespace core

struct Half {
  uint16_t x;
  Half() = default;
  Half(float f) : x(core::float_to_half_bits(f)) {}
  struct from_bits_t {};
  constexpr Half(uint16_t bits, from_bits_t) : x(bits) {}
  static constexpr from_bits_t from_bits() { return {}; }
  operator float() const { return core::half_bits_to_float(x); }
};

struct BFloat16 {
  uint16_t x;
  BFloat16() = default;
  BFloat16(float f) : x(core::float_to_bfloat_bits(f)) {}
  struct from_bits_t {};
  constexpr BFloat16(uint16_t bits, from_bits_t) : x(bits) {}
  static constexpr from_bits_t from_bits() { return {}; }
  operator float() const { return core::bits_to_float(static_cast<uint32_t>(x) << 16); }
};

}  // namespace tenon
