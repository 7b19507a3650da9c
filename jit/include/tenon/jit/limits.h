// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loops of programs have no bound of their own; a run can be given one.
#pragma once

#include <cstdint>

#include "tenon/runtime/export.h"

namespace tenon::jit {

// Bounds of a run; 0: none. Errors say which was exceeded, and where in the program.
struct RunLimits {
  int64_t instructions = 0;
  int64_t milliseconds = 0;
  int64_t call_depth = 1000;
};
// For runs of this thread, and of what they fork.
TENON_API RunLimits run_limits() noexcept;
TENON_API void set_run_limits(const RunLimits& limits) noexcept;

}  // namespace tenon::jit
