// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/cuda/CUDAStream.h>

namespace c10::cuda {

struct CUDAGuard {
  explicit CUDAGuard(DeviceIndex) { CUDAStream::refuse("CUDAGuard"); }
  explicit CUDAGuard(Device) { CUDAStream::refuse("CUDAGuard"); }
  void set_index(DeviceIndex) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;  // guards nothing until it is given a device
  explicit OptionalCUDAGuard(DeviceIndex) { CUDAStream::refuse("OptionalCUDAGuard"); }
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(CUDAStream) { CUDAStream::refuse("CUDAStreamGuard"); }
};

}  // namespace c10::cuda
namespace at::cuda {
using ::c10::cuda::CUDAGuard;
using ::c10::cuda::CUDAStreamGuard;
using ::c10::cuda::OptionalCUDAGuard;
}  // namespace at::cuda
