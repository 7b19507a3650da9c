// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The fallback chain of a call that no kernel of its device serves. Private to core.
#pragma once

#include <string>

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"

namespace tenon::core {

// NotImplementedError with a reason for each step. `declined`: the first kernel that was asked, if
// there was one.
void fall_back(CallFrame& frame, const KernelEntry* declined);

}  // namespace tenon::core
