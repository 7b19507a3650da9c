// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whether this thread captures work into a graph (stream/graph.cpp). Allocations and calls check
// it. Private to libtenon_core.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "tenon/runtime/device.h"

namespace tenon::core {

extern std::atomic<int> g_captures;  // under way, in all threads

// `pool`: the memory pool of this thread's requests meanwhile. Calls are watched until the end.
void begin_thread_capture(DeviceId device, uint32_t pool);
void end_thread_capture() noexcept;

// The memory pool of this thread's requests; 0 is the shared one.
uint32_t capture_pool_slow(DeviceId device) noexcept;
inline uint32_t capture_pool(DeviceId device) noexcept {
  return TENON_LIKELY(g_captures.load(std::memory_order_relaxed) == 0) ? 0
                                                                       : capture_pool_slow(device);
}

// NotImplementedError where this thread captures work of the device: "nonzero: cannot be captured
// in a graph: ...".
void refuse_in_capture_slow(DeviceId device, std::string_view op, std::string_view why);
inline void refuse_in_capture(DeviceId device, std::string_view op, std::string_view why) {
  if (TENON_UNLIKELY(g_captures.load(std::memory_order_relaxed) != 0))
    refuse_in_capture_slow(device, op, why);
}

}  // namespace tenon::core
