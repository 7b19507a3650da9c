// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/parallel.h"

namespace tenon {
// Threads start with the first kernel that needs them.
inline void init_num_threads() {}
}  // namespace tenon
