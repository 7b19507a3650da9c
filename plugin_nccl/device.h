// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the engine needs of CUDA: the current device, and events.
#pragma once

#include <cuda_runtime_api.h>

#include "tenon/abi/device.h"

namespace tenon::nccl_engine {

// std::runtime_error with the name of the call and of the error.
void check(cudaError_t status, const char* call);

// Makes the device the thread's current one.
class DeviceGuard {
 public:
  explicit DeviceGuard(int index);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  int before_ = -1;
};

// The CUDA stream of an ABI stream of the device; null: its default one. std::runtime_error: the
// plugin of the device is not open.
cudaStream_t native_stream(int index, tn_stream* stream);

// A point in a stream's work.
class Event {
 public:
  Event();  // of the current device
  ~Event();
  Event(const Event&) = delete;
  void record(cudaStream_t stream);
  // True also after an error of the device, which the program meets there.
  bool is_done() const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace tenon::nccl_engine
