// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A hash of shapes, strides and the like.
#pragma once

#include <cstdint>

#include "tenon/sdk/view.h"

namespace tenon::cpu {

inline uint64_t hash_of(sdk::Ints values, uint64_t seed = 0) {
  uint64_t h = seed;
  for (const int64_t v : values) h = (h ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 32;
}

}  // namespace tenon::cpu
