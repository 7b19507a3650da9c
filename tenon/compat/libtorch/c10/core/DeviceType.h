// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names of device types that programs compare with. A device of one of these types works where a
// plugin serves it; otherwise using it is a BackendError.
#pragma once

#include <torch/namespaces.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "tenon/runtime/device.h"

namespace tenon {

inline constexpr DeviceType kHIP = DeviceType::HIP;
inline constexpr DeviceType kXLA = DeviceType::XLA;
inline constexpr DeviceType kHPU = DeviceType::HPU;
inline constexpr DeviceType kMTIA = DeviceType::MTIA;
inline constexpr DeviceType kXPU = DeviceType::XPU;
inline constexpr DeviceType kMPS = DeviceType::MPS;
inline constexpr DeviceType kMeta = DeviceType::Meta;
inline constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;

inline constexpr int COMPILE_TIME_MAX_DEVICE_TYPES =
    static_cast<int>(DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES);

// "CUDA", or "cuda".
inline std::string DeviceTypeName(DeviceType type, bool lower_case = false) {
  std::string name = Device(type).str();
  if (!lower_case) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  return name;
}

}  // namespace tenon
