// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The only thread pool of the process. A waiting worker spins for 20 us, 320 where work keeps
// coming that soon, then sleeps; a forked child starts without workers and makes new ones.
#pragma once

#include <cstdint>

#include "tenon/runtime/export.h"

namespace tenon::core {

using RangeFn = void (*)(void* arg, int64_t begin, int64_t end);

// Runs body over [0, n) in blocks of `grain`; blocks depend on n and grain alone. The calling
// thread works too. The first exception is rethrown here after all blocks are done. A nested call
// runs on its own thread.
TENON_API void parallel_for(int64_t n, int64_t grain, RangeFn body, void* arg);
TENON_API int num_threads() noexcept;
TENON_API void set_num_threads(int n);  // ValueError below 1
TENON_API bool in_parallel_region() noexcept;
TENON_API int thread_index() noexcept;  // 0 outside of a region

}  // namespace tenon::core
