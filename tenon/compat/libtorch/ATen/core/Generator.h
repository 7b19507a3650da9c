// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Generators by libtorch's names.
#pragma once

#include <torch/namespaces.h>

#include "tenon/types.h"

namespace at {

struct CPUGeneratorImpl {};
struct CUDAGeneratorImpl {};

// make_generator<CPUGeneratorImpl>(seed)
template <class Impl>
Generator make_generator(uint64_t seed = 67280421310721) {
  return ::tenon::make_generator(Device(std::is_same_v<Impl, CPUGeneratorImpl> ? kCPU : kCUDA),
                                 seed);
}

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
