// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Builds the loops of one op for each target (body-inl.h) and gives the table of the one that is in
// use.
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

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/pointwise/body-inl.h"
#include "isa/targets.h"

#include "plugin_cpu/pointwise/body-inl.h"

namespace tenon::cpu::pw {
namespace {

TENON_EXPORT(PW_TABLE);

const Loops& loops() {
  static const Loops& chosen = TENON_DISPATCH(PW_TABLE)();
  return chosen;
}

}  // namespace
}  // namespace tenon::cpu::pw
