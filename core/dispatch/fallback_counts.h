// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The setting that allows fallbacks, and how often each was used. Private to core.
#pragma once

#include <string>

#include "core/dispatch/frame.h"
#include "tenon/core/dispatch.h"

namespace tenon::core {

// Counts a use of a step of the fallback chain. NotImplementedError where the setting forbids it.
void count_fallback(const CallFrame& frame, ServedBy by, const std::string& reason, uint64_t bytes);

}  // namespace tenon::core
