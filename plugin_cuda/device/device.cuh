// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The one header of kernel code: CUDA C++ under nvcc, or its replacement where g++ compiles the
// kernels for the emulator of tests/cuda/emulator (TENON_CUDA_EMULATED).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/sdk/half.h"
#include "tenon/sdk/hd.h"

#if defined(TENON_CUDA_EMULATED)
#include "tenon_cuda_emulated.h"
#define TN_DEVICE inline
#define TN_UNROLL(n)
#else
#include <cuda_runtime.h>
#pragma nv_diag_suppress 177  // "never referenced": the linker finds the records of TN_KERNEL
#pragma nv_diag_suppress 186  // "pointless comparison of unsigned integer with zero": of templates
#define TN_DEVICE __device__ __forceinline__
#define TN_UNROLL(n) _Pragma(TN_DETAIL_TEXT(unroll n))
#define TN_DETAIL_TEXT(x) #x
// T name[n] in shared memory. Copy its elements into variables of type T, not auto.
#define TN_SHARED(T, name, n) __shared__ T name[n]

namespace tenon::cuda {
// A pointer to shared memory, for parameters.
template <class T>
using Shared = T*;

// The launch's dynamic shared memory from byte `offset` on.
template <class T>
__device__ __forceinline__ T* dynamic_shared(std::size_t offset = 0) {
  extern __shared__ __align__(16) char tenon_dynamic_shared[];
  return reinterpret_cast<T*>(tenon_dynamic_shared + offset);
}
}  // namespace tenon::cuda
#endif

namespace tenon::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kWarp = 32;

TN_DEVICE int64_t global_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
TN_DEVICE int64_t global_threads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

}  // namespace tenon::cuda
