// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// CUDA's streams are the streams of the device "cuda".
#pragma once

#include <torch/namespaces.h>

#include "tenon/stream.h"

struct CUstream_st;
using cudaStream_t = CUstream_st*;  // as the CUDA toolkit has it, if it is there

namespace c10::cuda {

class CUDAStream : public ::tenon::Stream {
 public:
  explicit CUDAStream(const ::tenon::Stream& s) : Stream(s) {}
  cudaStream_t stream() const { return static_cast<cudaStream_t>(native_handle()); }
  operator cudaStream_t() const { return stream(); }
  ::tenon::Stream unwrap() const { return *this; }
};

inline CUDAStream getCurrentCUDAStream(DeviceIndex i = -1) {
  return CUDAStream(::tenon::current_stream(Device(kCUDA, i)));
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex i = -1) {
  return CUDAStream(::tenon::default_stream(Device(kCUDA, i)));
}
inline CUDAStream getStreamFromPool(int priority, DeviceIndex i = -1) {
  return CUDAStream(::tenon::stream_from_pool(Device(kCUDA, i), priority));
}
inline CUDAStream getStreamFromPool(bool high_priority = false, DeviceIndex i = -1) {
  return getStreamFromPool(high_priority ? -1 : 0, i);
}
inline void setCurrentCUDAStream(CUDAStream s) { ::tenon::set_current_stream(s); }

}  // namespace c10::cuda
namespace at::cuda {
using ::c10::cuda::CUDAStream;
using ::c10::cuda::getCurrentCUDAStream;
using ::c10::cuda::getDefaultCUDAStream;
using ::c10::cuda::getStreamFromPool;
using ::c10::cuda::setCurrentCUDAStream;
}  // namespace at::cuda
