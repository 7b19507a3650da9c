// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arguments and results of a layout other than strided, component by component. Private to core.
#pragma once

#include "core/dispatch/frame.h"

namespace tenon::core {

// What core does with components itself; false if it does nothing for this operator.
bool call_by_components(CallFrame& frame);
// Argument i, a tensor of a layout, as a kernel wants it.
void prepare_components(CallFrame& frame, int i, TensorImpl& tensor, bool cast, bool contiguous);
// Result k, which gets its components from the kernel.
void make_component_output(CallFrame& frame, int k);
void finish_component_outputs(CallFrame& frame);

}  // namespace tenon::core
