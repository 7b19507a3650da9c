// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Private to core.
#pragma once

#include "core/dispatch/frame.h"

namespace tenon::core {

// Result k of another call becomes the frame's own; a given output is written.
void deliver_result(CallFrame& frame, int k, Impl made);

}  // namespace tenon::core
