// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/broadcasting.h"

namespace tenon::core {

// Written by opgen (tools/opgen/broadcasting.cpp); the bytes are positions of texts, by operator.
extern const int g_op_count;
extern const char* const g_broadcasting_texts[];
extern const uint8_t g_broadcasting[];

const char* broadcasting(const Op& op) noexcept {
  return op.index < g_op_count ? g_broadcasting_texts[g_broadcasting[op.index]] : nullptr;
}

}  // namespace tenon::core
