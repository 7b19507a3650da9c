// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"

namespace tenon::core {

// What serves a call without a native kernel. Throws NotImplementedError with a reason for each step.
// `declined`: the kernel that was asked, if there was one.
void climb(CallFrame& f, const KernelEntry* declined);
// Result k, cast to `dtype`, becomes the frame's own; a given output is written.
void deliver(CallFrame& f, int k, Impl made, ScalarType dtype);
// Counts a use of a rung; throws where the setting forbids it.
void count_fallback(const CallFrame& f, const char* rung, const std::string& reason, uint64_t bytes);

}  // namespace tenon::core
