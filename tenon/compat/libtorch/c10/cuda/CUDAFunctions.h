// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/cuda.h>

#include "tenon/stream.h"

namespace c10::cuda {

inline DeviceIndex device_count() {
  return static_cast<DeviceIndex>(::tenon::compat::device_count(DeviceType::CUDA));
}
// The current device of this thread.
inline DeviceIndex current_device() {
  return ::tenon::core::resolve(Device(DeviceType::CUDA)).index();
}
inline void set_device(DeviceIndex index) {
  ::tenon::core::set_current_index(::tenon::core::device_id(Device(DeviceType::CUDA, index)));
}
inline void device_synchronize() {
  ::tenon::compat::synchronize(DeviceType::CUDA, current_device());
}

}  // namespace c10::cuda
