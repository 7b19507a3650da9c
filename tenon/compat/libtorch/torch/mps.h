// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/devices.h>

namespace torch::mps {

inline std::size_t device_count() { return ::tenon::compat::device_count(DeviceType::MPS); }
inline bool is_available() { return device_count() > 0; }
inline void synchronize(int64_t index = -1) {
  ::tenon::compat::synchronize(DeviceType::MPS, index);
}

}  // namespace torch::mps
