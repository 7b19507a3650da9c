// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The last step of the fallback chain, for calls of a layout: on strided copies. Private to core.
#pragma once

#include <string>

#include "core/dispatch/frame.h"

namespace tenon::core {

// Where the setting allows them (core::densify); false if it does not.
bool call_densified(CallFrame& frame, const std::string& reason);

}  // namespace tenon::core
