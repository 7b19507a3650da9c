// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls that have a tensor of a layout other than strided. Private to core.
#pragma once

#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"

namespace tenon::core {

// The layout that this call is of: that of its tensors, a layout argument, or the row's own. 0: strided.
int layout_of_call(const Op& op, const tn_value* in);
// Instead of core::call, for a call of a layout.
void call_layout(const Op& op, const tn_value* in, TensorImpl** outs, Form form, int layout);

}  // namespace tenon::core
