// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which devices this process can use.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/DeprecatedTypeProperties.h>
#include <torch/devices.h>

#include <atomic>
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
  static bool deterministicAlgorithms() {
    return ::tenon::core::deterministic() && (chosen().algorithms || !chosen().cudnn);
  }
  static void setDeterministicAlgorithms(bool on, bool /*warn_only*/ = false) {
    chosen().algorithms = on;
    ::tenon::core::set_deterministic(on || chosen().cudnn);
  }
  // Kernels have one setting: this is the other reason to set it.
  static bool deterministicCuDNN() { return chosen().cudnn; }
  static void setDeterministicCuDNN(bool on) {
    chosen().cudnn = on;
    ::tenon::core::set_deterministic(on || chosen().algorithms);
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

  // Products of 16-bit floats are summed in float32. What is chosen is kept, without effect.
  static bool allowFP16ReductionCuBLAS() { return chosen().fp16; }
  static bool allowBF16ReductionCuBLAS() { return chosen().bf16; }
  static void setAllowFP16ReductionCuBLAS(bool on, bool /*allow_splitk*/ = true) {
    chosen().fp16 = on;
  }
  static void setAllowBF16ReductionCuBLAS(bool on, bool /*allow_splitk*/ = true) {
    chosen().bf16 = on;
  }

  static ::tenon::Generator defaultGenerator(::tenon::Device device) {
    return ::tenon::default_generator(device);
  }

  static ::tenon::DeprecatedTypeProperties& getDeprecatedTypeProperties(::tenon::Backend b,
                                                                        ::tenon::ScalarType dtype) {
    return ::tenon::getDeprecatedTypeProperties(b, dtype);
  }

 private:
  struct Chosen {
    std::atomic<bool> algorithms{false}, cudnn{false};  // to be deterministic
    std::atomic<bool> fp16{true}, bf16{true};           // to reduce in
  };
  static Chosen& chosen() {
    static Chosen all;
    return all;
  }
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
