// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the rest of core asks about a capture that is under way. Private to core.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "tenon/core/graph.h"

namespace tenon::core {

extern std::atomic<int> g_captures;  // under way, in all threads

// Whose memory this thread's requests get: 0 is everybody's.
uint32_t capture_pool_slow(int slot, int index) noexcept;
inline uint32_t capture_pool(int slot, int index) noexcept {
  return TENON_LIKELY(g_captures.load(std::memory_order_relaxed) == 0) ? 0 : capture_pool_slow(slot, index);
}

// NotImplementedError where this thread captures work of the device: "nonzero: cannot be captured in a graph: ...".
void refuse_in_capture_slow(int slot, int index, std::string_view op, std::string_view why);
inline void refuse_in_capture(int slot, int index, std::string_view op, std::string_view why) {
  if (TENON_UNLIKELY(g_captures.load(std::memory_order_relaxed) != 0)) refuse_in_capture_slow(slot, index, op, why);
}

// What this thread captures draws anew with each launch. NotImplementedError on devices that have no way to be told.
tn_generator reserve_in_capture(GeneratorImpl& g, uint64_t words);

int64_t graphs_alive(int slot) noexcept;

// allocator.cpp: what was freed during a capture and had to wait for its end; a capture's memory becomes everybody's.
void end_capture_pool(int slot, int index) noexcept;
void release_capture_pool(int slot, int index, uint32_t pool) noexcept;

}  // namespace tenon::core
