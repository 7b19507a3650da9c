// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/core/dtype.h"
#include "tenon/ops.h"

namespace tenon {

inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return promote_types(a, b); }

// Whether results of one dtype may be written to a tensor of the other.
inline bool canCast(ScalarType from, ScalarType to) { return can_cast(from, to); }

inline bool isFloat8Type(ScalarType t) {
  return t == kFloat8_e5m2 || t == kFloat8_e4m3fn || t == kFloat8_e5m2fnuz ||
         t == kFloat8_e4m3fnuz || t == kFloat8_e8m0fnu;
}
inline bool isBarebonesUnsignedType(ScalarType t) {
  return t == kUInt16 || t == kUInt32 || t == kUInt64;
}

// torch's numbers of quantized dtypes that no tensor has here.
inline constexpr ScalarType kQUInt4x2 = static_cast<ScalarType>(16);
inline constexpr ScalarType kQUInt2x4 = static_cast<ScalarType>(17);

// Names of dtypes by their bits.
inline constexpr ScalarType kU8 = kByte, kI8 = kChar, kI16 = kShort, kI32 = kInt, kI64 = kLong,
                            kF16 = kHalf, kF32 = kFloat, kF64 = kDouble, kU16 = kUInt16,
                            kU32 = kUInt32, kU64 = kUInt64;

}  // namespace tenon
