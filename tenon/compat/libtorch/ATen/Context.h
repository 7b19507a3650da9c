// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which devices this process can use.
#pragma once

#include <ATen/ATen.h>
#include <torch/devices.h>

namespace at {

inline bool hasCUDA() { return ::tenon::compat::device_count(::tenon::DeviceType::CUDA) > 0; }
inline bool hasHIP() { return ::tenon::compat::device_count(::tenon::kHIP) > 0; }
inline bool hasXPU() { return ::tenon::compat::device_count(::tenon::DeviceType::XPU) > 0; }
inline bool hasMPS() { return ::tenon::compat::device_count(::tenon::DeviceType::MPS) > 0; }

}  // namespace at
