// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The primitives: what other rows decompose into (core/ops/primitive.ops).
#pragma once

#include "core/call.h"

namespace tenon::core {

// Whether a device can be served by the row's decomposition; where it cannot, why.
bool can_decompose(const Op& op, int slot, ScalarType dtype, std::string* why = nullptr);
// A row that is one call of a primitive. Its arguments are as the user gave them.
void call_by_code(CallFrame& f);

}  // namespace tenon::core
