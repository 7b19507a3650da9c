// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which devices this process can use.
#pragma once

#include <ATen/ATen.h>
#include <torch/devices.h>

#include <string>
#include <string_view>

#include "tenon/core/dispatch.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/settings.h"

namespace tenon {

inline bool hasCUDA() { return compat::device_count(DeviceType::CUDA) > 0; }
inline bool hasHIP() { return compat::device_count(kHIP) > 0; }
inline bool hasXPU() { return compat::device_count(DeviceType::XPU) > 0; }
inline bool hasMPS() { return compat::device_count(DeviceType::MPS) > 0; }

// Of CUDA.
inline std::size_t getNumGPUs() {
  return static_cast<std::size_t>(compat::device_count(DeviceType::CUDA));
}

}  // namespace tenon

namespace at {

// What the process is set to, as libtorch asks for it.
class Context {
 public:
  static bool hasCUDA() { return ::tenon::hasCUDA(); }
  static bool hasXPU() { return ::tenon::hasXPU(); }
  static bool hasMPS() { return ::tenon::hasMPS(); }
  static bool deterministicAlgorithms() { return ::tenon::core::deterministic(); }
  static void setDeterministicAlgorithms(bool on, bool /*warn_only*/ = false) {
    ::tenon::core::set_deterministic(on);
  }

  // Products, convolutions and recurrent layers have one setting (TENON_ALLOW_TF32, off by
  // default), which the CUDA plugin reads when it opens; cuDNN's timing (TENON_CONV_BENCHMARK) is
  // read at the first convolution. A choice that comes later is warned of.
  static bool allowTF32CuBLAS() { return is_on("ALLOW_TF32"); }
  static bool allowTF32CuDNN() { return is_on("ALLOW_TF32"); }
  static bool benchmarkCuDNN() { return is_on("CONV_BENCHMARK"); }
  static void setAllowTF32CuBLAS(bool on) { choose("ALLOW_TF32", on); }
  static void setAllowTF32CuDNN(bool on) { choose("ALLOW_TF32", on); }
  static void setBenchmarkCuDNN(bool on) { choose("CONV_BENCHMARK", on); }

  static ::tenon::Generator defaultGenerator(::tenon::Device device) {
    return ::tenon::default_generator(device);
  }

 private:
  static bool is_on(std::string_view name) {
    const std::string value = ::tenon::core::setting(name);
    return !value.empty() && value != "0";
  }
  static void choose(std::string_view name, bool on) {
    if (on == is_on(name)) return;
    const auto slot = ::tenon::core::device_slot(::tenon::DeviceType::CUDA);
    if (slot >= 0 && ::tenon::core::device_entry(slot).api != nullptr)
      TORCH_WARN("TENON_", name,
                 " is chosen after the CUDA plugin was opened, which may keep the "
                 "value that it read");
    ::tenon::core::set_setting(name, on ? "1" : "0");
  }
};
inline Context& globalContext() {
  static Context context;
  return context;
}

}  // namespace at

namespace tenon {
using at::Context;
using at::globalContext;
}  // namespace tenon
