// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

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
}  // namespace tenon
