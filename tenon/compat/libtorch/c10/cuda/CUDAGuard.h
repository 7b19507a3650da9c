// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/cuda/CUDAStream.h>

#include <optional>

namespace c10::cuda {

class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex i) : guard_(Device(kCUDA, i)) {}
  explicit CUDAGuard(Device d) : guard_(d) {}
  void set_index(DeviceIndex i) { ::tenon::set_device(Device(kCUDA, i)); }
  void set_device(Device d) { ::tenon::set_device(d); }
  Device original_device() const { return guard_.original_device(); }
  Device current_device() const { return ::tenon::current_device(kCUDA); }

 private:
  ::tenon::DeviceGuard guard_;
};

class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;  // guards nothing until it is given a device
  explicit OptionalCUDAGuard(std::optional<Device> d) {
    if (d) guard_.emplace(*d);
  }
  explicit OptionalCUDAGuard(DeviceIndex i) : guard_(std::in_place, i) {}
  void set_index(DeviceIndex i) { set_device(Device(kCUDA, i)); }
  void set_device(Device d) {
    if (guard_) guard_->set_device(d);
    if (!guard_) guard_.emplace(d);
  }
  void reset() { guard_.reset(); }

 private:
  std::optional<CUDAGuard> guard_;
};

class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(const ::tenon::Stream& s) : guard_(s) {}
  CUDAStream original_stream() const { return CUDAStream(guard_.original_stream()); }
  CUDAStream current_stream() const { return getCurrentCUDAStream(); }

 private:
  ::tenon::StreamGuard guard_;
};

}  // namespace c10::cuda
namespace at::cuda {
using ::c10::cuda::CUDAGuard;
using ::c10::cuda::CUDAStreamGuard;
using ::c10::cuda::OptionalCUDAGuard;
}  // namespace at::cuda
