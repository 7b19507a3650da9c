// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of tensors of a layout other than strided: which layout a call is of, and which kernels
// take it. Private to core.
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"
#include "tenon/core/layout.h"

namespace tenon::core {

// The slot of the operator's layout argument; 0: it has none, or it is strided.
int layout_argument(const Op& op, const tn_value* in);
// The layout that this call is of: that of its tensors, a layout argument, or the operator's own.
// 0: strided.
int layout_of_call(const Op& op, const tn_value* in);
bool takes_layouts(const CallFrame& frame, const KernelEntry& entry);
[[noreturn]] void no_kernel_for_layouts(const CallFrame& frame, bool declined);

}  // namespace tenon::core
