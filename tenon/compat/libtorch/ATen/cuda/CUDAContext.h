// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/cuda.h>

namespace at::cuda {
using ::tenon::cuda::device_count;
using ::tenon::cuda::is_available;
inline int64_t getNumGPUs() { return static_cast<int64_t>(device_count()); }
}  // namespace at::cuda
