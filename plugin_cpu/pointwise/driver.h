// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a generated file needs beside the loops of its ops, which it builds for each target
// (body-inl.h): PW_LOOPS(NAME) makes chosen_NAME(), the table of the target in use.
#include <type_traits>

#include "isa/isa.h"
#include "plugin_cpu/pointwise/engine.h"
#include "tenon/sdk/scalar_math.h"

#define PW_INLINE inline __attribute__((always_inline))

#define PW_BOOL(X) X(kKindBool, bool)
#define PW_INTEGRAL(X) \
  X(kKindU8, uint8_t)  \
  X(kKindI8, int8_t) X(kKindI16, int16_t) X(kKindI32, int32_t) X(kKindI64, int64_t)
#define PW_FLOATING(X) X(kKindF32, float) X(kKindF64, double)
#define PW_NUMBER(X) PW_INTEGRAL(X) PW_FLOATING(X)
#define PW_BITS(X) PW_BOOL(X) PW_INTEGRAL(X)
#define PW_ALL(X) PW_BOOL(X) PW_NUMBER(X)

#define PW_LOOPS(NAME)                                             \
  TENON_EXPORT(PwLoops_##NAME);                                    \
  const Loops& chosen_##NAME() {                                   \
    static const Loops& chosen = TENON_DISPATCH(PwLoops_##NAME)(); \
    return chosen;                                                 \
  }
