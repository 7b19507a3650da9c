// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/devices.h>

namespace torch::xpu {

inline std::size_t device_count() { return ::tenon::compat::device_count(DeviceType::XPU); }
inline bool is_available() { return device_count() > 0; }
inline void synchronize(int64_t index = -1) {
  ::tenon::compat::synchronize(DeviceType::XPU, index);
}

}  // namespace torch::xpu
