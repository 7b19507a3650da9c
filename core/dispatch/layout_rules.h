// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a layout other than strided adds to a call: its word on the results, its components among
// arguments and outputs. Private to core.
#pragma once

#include <string>

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"
#include "tenon/core/layout.h"

namespace tenon::core {

// The layout that this call is of: that of its tensors, a layout argument, or the operator's own.
// 0: strided.
int layout_of_call(const Op& op, const tn_value* in);
// Shapes and dtypes by the operator's rule, which does not know layouts, then what the layout says
// of the results.
void infer_with_layout(CallFrame& frame);
bool takes_layouts(const CallFrame& frame, const KernelEntry& entry);
// What core does with components itself; false if it does nothing for this operator.
bool call_by_components(CallFrame& frame);

// Argument i, a tensor of a layout, as a kernel wants it.
void prepare_components(CallFrame& frame, int i, TensorImpl& tensor, bool cast, bool contiguous);
// Result k, which gets its components from the kernel.
void make_component_output(CallFrame& frame, int k);
void finish_component_outputs(CallFrame& frame);

// A step of the fallback chain: the call on strided copies, where the setting allows them.
bool call_densified(CallFrame& frame, const std::string& reason);
[[noreturn]] void no_kernel_for_layouts(const CallFrame& frame, bool declined);

}  // namespace tenon::core
