// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The fast path of calls whose operands are alike. Private to core.
#pragma once

#include "core/registry/cells.h"
#include "tenon/core/infer.h"

namespace tenon::core {

// Rows for which floating tensors of one dtype give one result of the shape that they broadcast to, of their
// dtype or bool. By op index; ops that plugins register take the long way.
enum class Alike : uint8_t { No, Same, Bool };
extern Alike g_alike[kMaxOps];
// The short way of such a row; false if this call must take the long one.
bool call_alike(const Op& op, const tn_value* in, TensorImpl** outs, Form form);

}  // namespace tenon::core
