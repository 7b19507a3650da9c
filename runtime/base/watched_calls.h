// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whether calls are watched: a kernel observer, the shadow check, a capture. Such calls leave the
// fast path.
#pragma once

#include <atomic>

namespace tenon::core {

extern std::atomic<int> g_watchers;

inline bool calls_are_watched() noexcept { return g_watchers.load(std::memory_order_relaxed) != 0; }
inline void watch_calls(int by) noexcept { g_watchers.fetch_add(by, std::memory_order_release); }

}  // namespace tenon::core
