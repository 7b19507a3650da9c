// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Generators by libtorch's names.
#pragma once

#include <torch/namespaces.h>

#include <cstdint>
#include <random>
#include <type_traits>

#include "tenon/types.h"

namespace tenon {

struct CPUGeneratorImpl {};
struct CUDAGeneratorImpl {};

// make_generator<CPUGeneratorImpl>(seed)
template <class Impl>
Generator make_generator(uint64_t seed = 67280421310721) {
  return make_generator(Device(std::is_same_v<Impl, CPUGeneratorImpl> ? kCPU : kCUDA), seed);
}

}  // namespace tenon

namespace c10::detail {
// From the system's entropy.
inline uint64_t getNonDeterministicRandom(bool /*is_cuda*/ = false) {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}
}  // namespace c10::detail

namespace at {

namespace detail {
inline Generator getDefaultCPUGenerator() { return ::tenon::default_generator(Device(kCPU)); }
inline Generator createCPUGenerator(uint64_t seed = 67280421310721) {
  return ::tenon::make_generator(Device(kCPU), seed);
}
}  // namespace detail
namespace cuda::detail {
inline Generator getDefaultCUDAGenerator(DeviceIndex index = -1) {
  return ::tenon::default_generator(Device(kCUDA, index));
}
}  // namespace cuda::detail

}  // namespace at
