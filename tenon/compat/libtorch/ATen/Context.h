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

inline bool hasMTIA() { return compat::device_count(DeviceType::MTIA) > 0; }
inline bool hasHPU() { return compat::device_count(DeviceType::HPU) > 0; }
// What plugins serve with is theirs: the host's with oneDNN and LAPACK. No plugin uses MAGMA.
inline bool hasMKL() { return false; }
inline bool hasLAPACK() { return true; }
inline bool hasMAGMA() { return false; }
inline bool hasMKLDNN() { return true; }
inline bool hasOpenMP() { return false; }  // one pool of threads

// Of CUDA.
inline std::size_t getNumGPUs() {
  return static_cast<std::size_t>(compat::device_count(DeviceType::CUDA));
}

}  // namespace tenon

namespace at {

enum class Float32MatmulPrecision { HIGHEST, HIGH, MEDIUM };
enum class CuBLASReductionOption : uint8_t {
  AllowReducedPrecisionWithSplitK = 0,
  DisallowReducedPrecisionAllowSplitK = 1,
  DisallowReducedPrecisionDisallowSplitK = 2
};

// What the process is set to, as libtorch asks for it.
class Context {
 public:
  static bool hasCUDA() { return ::tenon::hasCUDA(); }
  static bool hasXPU() { return ::tenon::hasXPU(); }
  static bool hasMPS() { return ::tenon::hasMPS(); }
  static bool hasHIP() { return ::tenon::hasHIP(); }
  static bool hasMTIA() { return ::tenon::hasMTIA(); }
  static bool hasHPU() { return ::tenon::hasHPU(); }
  static bool hasXLA() { return ::tenon::compat::device_count(::tenon::DeviceType::XLA) > 0; }
  static bool hasIPU() { return ::tenon::compat::device_count(::tenon::DeviceType::IPU) > 0; }
  static bool hasLazy() { return ::tenon::compat::device_count(::tenon::DeviceType::Lazy) > 0; }
  static bool hasCUDART() { return hasCUDA(); }
  static bool hasCuDNN() { return ::tenon::compat::has_cudnn(); }
  static bool hasCuSOLVER() { return hasCUDA(); }
  static bool hasMKL() { return ::tenon::hasMKL(); }
  static bool hasMKLDNN() { return ::tenon::hasMKLDNN(); }
  static bool hasLAPACK() { return ::tenon::hasLAPACK(); }
  static bool hasMAGMA() { return ::tenon::hasMAGMA(); }
  static bool hasOpenMP() { return ::tenon::hasOpenMP(); }
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
  static CuBLASReductionOption allowFP16ReductionCuBLAS() { return chosen().fp16; }
  static CuBLASReductionOption allowBF16ReductionCuBLAS() { return chosen().bf16; }
  static void setAllowFP16ReductionCuBLAS(bool on, bool allow_splitk = true) {
    chosen().fp16 = reduction(on, allow_splitk);
  }
  static void setAllowBF16ReductionCuBLAS(bool on, bool allow_splitk = true) {
    chosen().bf16 = reduction(on, allow_splitk);
  }

  // "highest": products of float32 without TF32; "high" and "medium": with it.
  static Float32MatmulPrecision float32MatmulPrecision() {
    return allowTF32CuBLAS() ? chosen().precision.load() : Float32MatmulPrecision::HIGHEST;
  }
  static void setFloat32MatmulPrecision(Float32MatmulPrecision p) {
    if (p != Float32MatmulPrecision::HIGHEST) chosen().precision = p;
    setAllowTF32CuBLAS(p != Float32MatmulPrecision::HIGHEST);
  }
  static void setFloat32MatmulPrecision(const std::string& name) {
    TORCH_CHECK_VALUE(name == "highest" || name == "high" || name == "medium",
                      "setFloat32MatmulPrecision: expected highest, high or medium, got ", name);
    setFloat32MatmulPrecision(name == "highest" ? Float32MatmulPrecision::HIGHEST
                              : name == "high"  ? Float32MatmulPrecision::HIGH
                                                : Float32MatmulPrecision::MEDIUM);
  }

#define TENON_COMPAT_SWITCH(get, set, field)   \
  static bool get() { return chosen().field; } \
  static void set(bool on) { chosen().field = on; }
  // Kept, without effect: settings.md has what chooses kernels.
  TENON_COMPAT_SWITCH(userEnabledCuDNN, setUserEnabledCuDNN, use_cudnn)
  TENON_COMPAT_SWITCH(userEnabledMkldnn, setUserEnabledMkldnn, use_mkldnn)
  TENON_COMPAT_SWITCH(userEnabledFlashSDP, setSDPUseFlash, flash)
  TENON_COMPAT_SWITCH(userEnabledMemEfficientSDP, setSDPUseMemEfficient, mem_efficient)
  TENON_COMPAT_SWITCH(userEnabledMathSDP, setSDPUseMath, math)
  TENON_COMPAT_SWITCH(userEnabledCuDNNSDP, setSDPUseCuDNN, cudnn_sdp)
  TENON_COMPAT_SWITCH(deterministicFillUninitializedMemory, setDeterministicFillUninitializedMemory,
                      fill)
#undef TENON_COMPAT_SWITCH

  // Devices start at their first use.
  static void lazyInitDevice(::tenon::DeviceType) {}
  static void lazyInitCUDA() {}

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
    std::atomic<CuBLASReductionOption> fp16{}, bf16{};  // to reduce in
    std::atomic<Float32MatmulPrecision> precision{Float32MatmulPrecision::HIGH};  // with TF32
    std::atomic<bool> use_cudnn{true}, use_mkldnn{true}, flash{true}, mem_efficient{true},
        math{true}, cudnn_sdp{true}, fill{true};
  };
  static Chosen& chosen() {
    static Chosen all;
    return all;
  }
  static CuBLASReductionOption reduction(bool on, bool allow_splitk) {
    if (on) return CuBLASReductionOption::AllowReducedPrecisionWithSplitK;
    return allow_splitk ? CuBLASReductionOption::DisallowReducedPrecisionAllowSplitK
                        : CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK;
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
