// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <torch/library.h>

#include "tenon/autocast.h"
#include "tenon/autocast_kernels.h"

// The older names, which mean CUDA.
namespace tenon::autocast {
inline bool is_enabled() { return is_autocast_enabled(kCUDA); }
inline void set_enabled(bool enabled) { set_autocast_enabled(kCUDA, enabled); }
}  // namespace tenon::autocast
