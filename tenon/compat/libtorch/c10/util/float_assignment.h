// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// a += b and similar assignments of the floats of 16 and 8 bits: computed in float, and rounded.
#pragma once

#include <torch/namespaces.h>

#include "tenon/core/float8.h"
#include "tenon/core/half.h"

namespace tenon {

#define TENON_FLOAT_ASSIGNMENT(T, op)                                          \
  inline T& operator op##=(T& a, const T& b) {                                 \
    return a = static_cast<T>(static_cast<float>(a) op static_cast<float>(b)); \
  }
#define TENON_FLOAT_ASSIGNMENTS(T) \
  TENON_FLOAT_ASSIGNMENT(T, +)     \
  TENON_FLOAT_ASSIGNMENT(T, -)     \
  TENON_FLOAT_ASSIGNMENT(T, *)     \
  TENON_FLOAT_ASSIGNMENT(T, /)
TENON_FLOAT_ASSIGNMENTS(Half)
TENON_FLOAT_ASSIGNMENTS(BFloat16)
TENON_FLOAT_ASSIGNMENTS(Float8_e5m2)
TENON_FLOAT_ASSIGNMENTS(Float8_e4m3fn)
TENON_FLOAT_ASSIGNMENTS(Float8_e5m2fnuz)
TENON_FLOAT_ASSIGNMENTS(Float8_e4m3fnuz)
#undef TENON_FLOAT_ASSIGNMENTS
#undef TENON_FLOAT_ASSIGNMENT

}  // namespace tenon
