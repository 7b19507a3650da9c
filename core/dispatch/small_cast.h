// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dispatch/frame.h"

namespace tenon::core {

// Argument i as `dtype`, where it is so small that the frame can hold it; false otherwise. What it
// puts in the frame is a bare view: a kernel may read it, nothing else may take it for a tensor.
bool cast_on_stack(CallFrame& frame, int i, const TensorImpl& tensor, ScalarType dtype);

}  // namespace tenon::core
