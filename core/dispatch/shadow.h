// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dispatch/frame.h"

namespace tenon::core {

extern std::atomic<uint32_t> g_shadow_every;
void shadow_check(CallFrame& frame);

}  // namespace tenon::core
