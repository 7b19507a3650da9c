// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// std::numeric_limits of the floats of 16 bits: (digits of the significand, exponents, bits of the
// numbers that it names).
#pragma once

#include <limits>

#include "tenon/core/half.h"

namespace c10::detail {

// IEEE binary16 and bfloat16 differ in these numbers alone.
template <class T, int kDigits, int kMinExponent, int kMaxExponent>
struct FloatLimits {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false,
                        is_exact = false, has_infinity = true, has_quiet_NaN = true,
                        has_signaling_NaN = true, is_iec559 = true, is_bounded = true,
                        is_modulo = false, traps = std::numeric_limits<float>::traps,
                        tinyness_before = std::numeric_limits<float>::tinyness_before;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr auto has_denorm = std::numeric_limits<float>::has_denorm;
  static constexpr bool has_denorm_loss = std::numeric_limits<float>::has_denorm_loss;
  static constexpr int digits = kDigits, digits10 = (kDigits - 1) * 301 / 1000,
                       max_digits10 = kDigits * 301 / 1000 + 2, radix = 2,
                       min_exponent = kMinExponent, max_exponent = kMaxExponent,
                       min_exponent10 = (kMinExponent - 1) * 301 / 1000,
                       max_exponent10 = kMaxExponent * 301 / 1000;

  static constexpr T min() { return of(1 << kStored); }
  static constexpr T max() { return of(kInfinity - 1); }
  static constexpr T lowest() { return of(0x8000 | (kInfinity - 1)); }
  static constexpr T epsilon() { return of((kMaxExponent - kDigits) << kStored); }
  static constexpr T round_error() { return of((kMaxExponent - 2) << kStored); }  // a half
  static constexpr T infinity() { return of(kInfinity); }
  static constexpr T quiet_NaN() { return of(kInfinity | 1 << (kStored - 1)); }
  static constexpr T signaling_NaN() { return of(kInfinity | 1 << (kStored - 2)); }
  static constexpr T denorm_min() { return of(1); }

 private:
  static constexpr int kStored = kDigits - 1, kInfinity = 0x7fff >> kStored << kStored;
  static constexpr T of(int bits) { return T(static_cast<unsigned short>(bits), T::from_bits()); }
};

}  // namespace c10::detail

template <>
class std::numeric_limits<tenon::Half> : public c10::detail::FloatLimits<tenon::Half, 11, -13, 16> {
};
template <>
class std::numeric_limits<tenon::BFloat16>
    : public c10::detail::FloatLimits<tenon::BFloat16, 8, -125, 128> {};
