// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The bits of floats of 16 bits, by the names that libtorch has for them.
#pragma once

#include <torch/namespaces.h>

#include <cstdint>

#include "tenon/core/half.h"

namespace c10::detail {

inline float fp32_from_bits(uint32_t bits) { return ::tenon::core::bits_to_float(bits); }
inline uint32_t fp32_to_bits(float f) { return ::tenon::core::float_to_bits(f); }
inline float fp16_ieee_to_fp32_value(uint16_t bits) {
  return ::tenon::core::half_bits_to_float(bits);
}
inline uint32_t fp16_ieee_to_fp32_bits(uint16_t bits) {
  return fp32_to_bits(fp16_ieee_to_fp32_value(bits));
}
inline uint16_t fp16_ieee_from_fp32_value(float f) { return ::tenon::core::float_to_half_bits(f); }

inline float f32_from_bits(uint16_t bfloat) {
  return fp32_from_bits(static_cast<uint32_t>(bfloat) << 16);
}
// Cut off, and rounded.
inline uint16_t bits_from_f32(float f) { return static_cast<uint16_t>(fp32_to_bits(f) >> 16); }
inline uint16_t round_to_nearest_even(float f) {
  return f != f ? uint16_t{0x7fc0} : ::tenon::core::float_to_bfloat_bits(f);
}

}  // namespace c10::detail
