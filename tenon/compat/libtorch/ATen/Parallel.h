// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <functional>
#include <string>

#include "tenon/parallel.h"
#include "tenon/runtime/error.h"

namespace tenon {
// Threads start with the first kernel that needs them.
inline void init_num_threads() {}
// Forks of programs run in the one pool, whose size set_num_threads() sets. ValueError below 1.
inline void set_num_interop_threads(int n) {
  TENON_CHECK(n > 0, ValueError, "set_num_interop_threads: expected a positive number, got ", n);
}
inline int get_num_interop_threads() { return get_num_threads(); }
// How many pieces of size y cover x.
inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }
inline std::string get_parallel_info() {
  return core::join("at::get_num_threads() : ", get_num_threads(),
                    "\nat::get_num_interop_threads() : ", get_num_interop_threads(),
                    "\nATen parallel backend: one pool\n");
}
// Calls it here and now: what is in it may use the pool.
inline void intraop_launch(const std::function<void()>& f) { f(); }
}  // namespace tenon

namespace at::internal {
inline constexpr int64_t GRAIN_SIZE = 32768;  // elements per piece of a pointwise loop
}  // namespace at::internal
