// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// All pools of a device, as DevicePool's. Private to libtenon_core.
#pragma once

#include <cstdint>

#include "tenon/runtime/device.h"

namespace tenon::core {

void open_pools(DeviceSlot slot);
int close_pools(DeviceSlot slot);  // the ordinal that has live blocks, or -1
uint64_t blocks_alive(DeviceId device);
// Frees what had to wait for the end of a capture; returns a capture's memory to the shared pool.
void end_capture_pool(DeviceId device) noexcept;
void release_capture_pool(DeviceId device, uint32_t pool) noexcept;

}  // namespace tenon::core
