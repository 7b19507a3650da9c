// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"

namespace tenon::core {

// The trampoline. True if the kernel did it, false if it declined; throws its error.
bool run_kernel(CallFrame& f, KernelEntry& e);

}  // namespace tenon::core
