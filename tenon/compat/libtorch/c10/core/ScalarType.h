// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/core/dtype.h"

namespace tenon {

inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return promote_types(a, b); }

// Names of dtypes by their bits.
inline constexpr ScalarType kU8 = kByte, kI8 = kChar, kI16 = kShort, kI32 = kInt, kI64 = kLong,
                            kF16 = kHalf, kF32 = kFloat, kF64 = kDouble;

}  // namespace tenon
