// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// All pools of a device, as DevicePool's. Private to libtenon_core.
#pragma once

#include <cstdint>

namespace tenon::core {

void open_pools(int slot);
int close_pools(int slot);  // the ordinal that has live blocks, or -1
uint64_t blocks_alive(int slot, int index);
// Frees what had to wait for the end of a capture; returns a capture's memory to the shared pool.
void end_capture_pool(int slot, int index) noexcept;
void release_capture_pool(int slot, int index, uint32_t pool) noexcept;

}  // namespace tenon::core
