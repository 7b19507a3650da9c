// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Results of a call of a layout other than strided: their shapes, dtypes and layouts. Private to
// core.
#pragma once

#include "core/dispatch/frame.h"

namespace tenon::core {

// Shapes and dtypes by the operator's rule, which does not know layouts, then what the layout says
// of the results.
void infer_with_layout(CallFrame& frame);

}  // namespace tenon::core
