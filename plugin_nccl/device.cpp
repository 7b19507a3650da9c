// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_nccl/device.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "tenon/sdk/error.h"
#include "tenon/sdk/parallel.h"

namespace tenon::nccl_engine {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw std::runtime_error(sdk::join(std::string_view(call),
                                     " failed: ", std::string_view(cudaGetErrorName(status)), " (",
                                     std::string_view(cudaGetErrorString(status)), ")"));
}

DeviceGuard::DeviceGuard(int index) {
  int now = -1;
  check(cudaGetDevice(&now), "cudaGetDevice");
  check(cudaSetDevice(index), "cudaSetDevice");
  before_ = now;
}

DeviceGuard::~DeviceGuard() { cudaSetDevice(before_); }

cudaStream_t native_stream(int index, tn_stream* stream) {
  constexpr std::string_view kCuda = "cuda";
  const tn_device_api* const api =
      sdk::host().get_device_api({kCuda.data(), kCuda.size()}, nullptr);
  if (!api || !TN_HAS(api, tn_device_api, native_stream) || !api->native_stream)
    throw std::runtime_error("there is no CUDA device: its plugin is not open");
  return static_cast<cudaStream_t>(api->native_stream(api->context, index, stream));
}

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

Event::~Event() { cudaEventDestroy(event_); }

void Event::record(cudaStream_t stream) {
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}

bool Event::is_done() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status != cudaErrorNotReady;
}

}  // namespace tenon::nccl_engine
