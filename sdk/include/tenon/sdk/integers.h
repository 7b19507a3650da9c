// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/sdk/dispatch.h"

namespace tenon::sdk {

// Up to this value the dtype holds every integer; `random` without bounds draws from [0,
// max_exact_integer].
inline int64_t max_exact_integer(DType t) {
  if (t == kFloat64) return int64_t{1} << 53;
  if (t == kFloat32) return 1 << 24;
  if (t == kFloat16) return 1 << 11;
  if (t == kBFloat16) return 1 << 8;
  if (t == kUInt8) return 255;
  return is_integral(t) ? static_cast<int64_t>((uint64_t{1} << (t.bits - 1)) - 1) : 1;
}

}  // namespace tenon::sdk
