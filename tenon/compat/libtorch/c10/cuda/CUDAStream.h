// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// CUDA streams are reserved: the CUDA plugin brings them.
#pragma once

#include <torch/missing.h>
#include <torch/namespaces.h>

#include "tenon/core/device.h"

namespace c10::cuda {

class CUDAStream {
 public:
  DeviceIndex device_index() const { return 0; }
  void synchronize() const { refuse("CUDAStream::synchronize"); }
  void* stream() const { refuse("CUDAStream::stream"); }
  bool operator==(const CUDAStream&) const { return true; }
  [[noreturn]] static void refuse(const char* what) {
    tenon::compat::missing(what, "streams come with the CUDA plugin");
  }
};

inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { CUDAStream::refuse("getCurrentCUDAStream"); }
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { CUDAStream::refuse("getDefaultCUDAStream"); }
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1) { CUDAStream::refuse("getStreamFromPool"); }
inline void setCurrentCUDAStream(CUDAStream) { CUDAStream::refuse("setCurrentCUDAStream"); }

}  // namespace c10::cuda
namespace at::cuda {
using ::c10::cuda::CUDAStream;
using ::c10::cuda::getCurrentCUDAStream;
using ::c10::cuda::getDefaultCUDAStream;
using ::c10::cuda::getStreamFromPool;
using ::c10::cuda::setCurrentCUDAStream;
}  // namespace at::cuda
