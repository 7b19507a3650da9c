// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floats, for storage. Arithmetic is done in float; conversions round to nearest
// even: by instructions of the GPU in code for it, where a NaN loses its payload.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/sdk/complex.h"
#include "tenon/sdk/hd.h"

namespace tenon::sdk {

namespace detail {
TN_HD inline float as_float(uint32_t b) {
  float f;
  std::memcpy(&f, &b, 4);
  return f;
}
TN_HD inline uint32_t as_bits(float f) {
  uint32_t b;
  std::memcpy(&b, &f, 4);
  return b;
}

// Without branches, so that loops over it vectorize: each range of the exponent is computed and one
// is selected.
TN_HD inline uint16_t to_half(float f) {
#if defined(__CUDA_ARCH__)
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
#else
  const uint32_t bits = as_bits(f), sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu;
  // Rebias the exponent, round to even.
  const uint32_t normal = (x + 0xc8000fffu + (x >> 13 & 1u)) >> 13;
  // subnormal: the float adder rounds
  const uint32_t tiny = as_bits(as_float(x) + 0.5f) - 0x3f000000u;
  const uint32_t nan = 0x7e00u | (x >> 13 & 0x3ffu);
  uint32_t r = x < 0x38800000u ? tiny : normal;
  r = x >= 0x47800000u ? 0x7c00u : r;
  r = x > 0x7f800000u ? nan : r;
  return static_cast<uint16_t>(sign | r);
#endif
}

TN_HD inline float from_half(uint16_t h) {
#if defined(__CUDA_ARCH__)
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
#else
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, rest = h & 0x7fffu;
  const uint32_t normal = (rest << 13) + 0x38000000u;
  const uint32_t tiny =
      as_bits(static_cast<float>(static_cast<int32_t>(rest)) * 5.9604644775390625e-8f);
  const uint32_t special = 0x7f800000u | (rest & 0x3ffu) << 13;
  uint32_t r = rest < 0x400u ? tiny : normal;
  r = rest >= 0x7c00u ? special : r;
  return as_float(sign | r);
#endif
}

TN_HD inline uint16_t to_bfloat(float f) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint16_t b;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(f));
  return b;
#else
  const uint32_t x = as_bits(f);
  const uint32_t rounded = (x + 0x7fffu + (x >> 16 & 1u)) >> 16, nan = x >> 16 | 0x40u;
  return static_cast<uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
#endif
}
TN_HD inline float from_bfloat(uint16_t b) { return as_float(static_cast<uint32_t>(b) << 16); }
}  // namespace detail

struct Half {
  uint16_t x;
  Half() = default;
  TN_HD Half(float f) : x(detail::to_half(f)) {}
  TN_HD operator float() const { return detail::from_half(x); }
};

struct BFloat16 {
  uint16_t x;
  BFloat16() = default;
  TN_HD BFloat16(float f) : x(detail::to_bfloat(f)) {}
  TN_HD operator float() const { return detail::from_bfloat(x); }
};

template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The type in which elements of T are computed.
template <class T>
using compute_t = std::conditional_t<is_half_v<T>, float, T>;

// The type in which sums of T accumulate.
template <class T>
using accumulate_t = std::conditional_t<
    is_half_v<T>, float,
    std::conditional_t<std::is_floating_point_v<T> || is_complex_v<T>, T, int64_t>>;

}  // namespace tenon::sdk
