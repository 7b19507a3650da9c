// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Named ranges of a thread that the profiler of a device's vendor shows, as NVTX's do for CUDA.
#pragma once

#include <string_view>

#include "tenon/runtime/device.h"
#include "tenon/runtime/export.h"

namespace tenon::core {

// Whether the plugin of the device has them; it must be open.
TENON_API bool has_profiler_ranges(DeviceSlot slot) noexcept;
// Nothing happens where there are none. Each range ends in the thread that began it.
TENON_API void push_profiler_range(DeviceSlot slot, std::string_view name) noexcept;
TENON_API void pop_profiler_range(DeviceSlot slot) noexcept;

}  // namespace tenon::core
