// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The primitives: what other operators decompose into (ops/primitive.ops).
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"

namespace tenon::core {

// Whether a device can be served by the operator's decomposition; where it cannot, why.
bool can_decompose(const Op& op, DeviceSlot slot, ScalarType dtype, std::string* why = nullptr);
// The function that serves tensors of a dtype; null if there is none.
BoxedFn decomposition_of(const Op& op, ScalarType dtype);
// The kernel that will write the outputs where the operator itself has none: of the primitive that
// it is one call of.
const KernelEntry* writing_kernel(const Op& op, DeviceSlot slot, ScalarType dtype);
// An operator that is one call of a primitive. Its arguments are as the user gave them.
void call_by_code(CallFrame& frame);

}  // namespace tenon::core
