// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Floats of 8, 6 and 4 bits: sign, exponent, mantissa, with the conventions of each format for
// infinities and NaN.
#include <cmath>
#include <limits>

#include "onnx/import/tensors.h"

namespace tenon::onnx {
namespace {

// Not dtypes: bits, mantissa, bias, has_infinity, only_one_nan, nan_is_negative_zero, is_signed.
constexpr SmallFloat kE2M1{4, 1, 1, false, false, false, true};
constexpr SmallFloat kE2M3{6, 3, 1, false, false, false, true};
constexpr SmallFloat kE3M2{6, 2, 3, false, false, false, true};

int exponent_bits(const SmallFloat& f) { return f.bits - f.mantissa - (f.is_signed ? 1 : 0); }
bool has_nan(const SmallFloat& f) {
  return f.has_infinity || f.only_one_nan || f.nan_is_negative_zero;
}

float largest(const SmallFloat& f) {
  const int top = (1 << exponent_bits(f)) - 1;
  const int full = (1 << f.mantissa) - 1;
  if (f.has_infinity)
    return std::ldexp(1.0f + full / static_cast<float>(full + 1), top - 1 - f.bias);
  if (!f.is_signed) return std::ldexp(1.0f, top - 1 - f.bias);
  const int last = f.only_one_nan ? full - 1 : full;
  return std::ldexp(1.0f + last / static_cast<float>(1 << f.mantissa), top - f.bias);
}

}  // namespace

const SmallFloat* small_float(int32_t type) {
  switch (type) {
    case pb::FLOAT8E4M3FN:
      return &core::kE4M3FN;
    case pb::FLOAT8E4M3FNUZ:
      return &core::kE4M3FNUZ;
    case pb::FLOAT8E5M2:
      return &core::kE5M2;
    case pb::FLOAT8E5M2FNUZ:
      return &core::kE5M2FNUZ;
    case pb::FLOAT4E2M1:
      return &kE2M1;
    case pb::FLOAT8E8M0:
      return &core::kE8M0FNU;
    case pb::FLOAT6E2M3:
      return &kE2M3;
    case pb::FLOAT6E3M2:
      return &kE3M2;
    default:
      return nullptr;
  }
}

float round_to(const SmallFloat& f, float x, bool saturate) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float most = largest(f);
  if (std::isnan(x)) return has_nan(f) ? x : 0.0f;
  const float beyond = has_nan(f) ? std::numeric_limits<float>::quiet_NaN() : most;
  if (std::isinf(x)) {
    if (saturate || !has_nan(f)) return std::copysign(most, x);
    return f.has_infinity ? x : beyond;
  }
  int exponent = 0;
  (void)std::frexp(x, &exponent);  // x = m * 2^exponent, m in [1/2, 1)
  const int least = f.is_signed ? 1 - f.bias : -f.bias;
  const int unit = std::max(exponent - 1, least) - f.mantissa;
  const float rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  if (std::fabs(rounded) <= most) return f.nan_is_negative_zero && rounded == 0 ? 0.0f : rounded;
  if (saturate || !has_nan(f)) return std::copysign(most, x);
  return f.has_infinity ? std::copysign(kInfinity, x) : beyond;
}

}  // namespace tenon::onnx
