// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which devices this process can use.
#pragma once

#include <ATen/ATen.h>
#include <torch/devices.h>

#include "tenon/core/dispatch.h"

namespace at {

inline bool hasCUDA() { return ::tenon::compat::device_count(::tenon::DeviceType::CUDA) > 0; }
inline bool hasHIP() { return ::tenon::compat::device_count(::tenon::kHIP) > 0; }
inline bool hasXPU() { return ::tenon::compat::device_count(::tenon::DeviceType::XPU) > 0; }
inline bool hasMPS() { return ::tenon::compat::device_count(::tenon::DeviceType::MPS) > 0; }

// What the process is set to, as libtorch asks for it.
class Context {
 public:
  static bool hasCUDA() { return at::hasCUDA(); }
  static bool hasXPU() { return at::hasXPU(); }
  static bool hasMPS() { return at::hasMPS(); }
  static bool deterministicAlgorithms() { return ::tenon::core::deterministic(); }
  static void setDeterministicAlgorithms(bool on, bool /*warn_only*/ = false) {
    ::tenon::core::set_deterministic(on);
  }
  static ::tenon::Generator defaultGenerator(::tenon::Device device) {
    return ::tenon::default_generator(device);
  }
};
inline Context& globalContext() {
  static Context context;
  return context;
}

}  // namespace at
