// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/devices.h>

#include "tenon/types.h"

namespace torch::cuda {

inline std::size_t device_count() { return ::tenon::compat::device_count(DeviceType::CUDA); }
inline bool is_available() { return device_count() > 0; }
inline bool cudnn_is_available() { return ::tenon::compat::has_cudnn(); }
inline void synchronize(int64_t index = -1) {
  ::tenon::compat::synchronize(DeviceType::CUDA, index);
}
// The generators of the current device, or of all.
inline void manual_seed(uint64_t seed) {
  if (is_available()) default_generator(DeviceType::CUDA).set_current_seed(seed);
}
inline void manual_seed_all(uint64_t seed) {
  for (std::size_t i = 0; i < device_count(); ++i)
    default_generator(Device(DeviceType::CUDA, static_cast<DeviceIndex>(i))).set_current_seed(seed);
}

}  // namespace torch::cuda
