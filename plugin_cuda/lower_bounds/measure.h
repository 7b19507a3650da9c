// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the lower bounds: memory and timing on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

namespace tenon::lower_bounds {

// Zeroed device memory; null if out of memory.
struct Memory {
  void* p = nullptr;
  explicit Memory(int64_t bytes) {
    const auto n = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    if (cudaMalloc(&p, n) != cudaSuccess) p = nullptr;
    if (p) cudaMemsetAsync(p, 0, n, nullptr);
  }
  ~Memory() { cudaFree(p); }
  Memory(const Memory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(p);
  }
};

// Milliseconds of one of `times` runs on the default stream, after one that is not timed. Negative:
// failed.
template <class F>
double device_ms(int times, F run) {
  cudaEvent_t begin = nullptr, end = nullptr;
  if (cudaEventCreateWithFlags(&begin, cudaEventDefault) != cudaSuccess ||
      cudaEventCreateWithFlags(&end, cudaEventDefault) != cudaSuccess)
    return -1;
  run();
  cudaEventRecord(begin, nullptr);
  for (int i = 0; i < times; ++i) run();
  cudaEventRecord(end, nullptr);
  float ms = -1;
  if (cudaEventSynchronize(end) != cudaSuccess ||
      cudaEventElapsedTime(&ms, begin, end) != cudaSuccess)
    ms = -1;
  if (cudaGetLastError() != cudaSuccess) ms = -1;
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return ms < 0 ? -1 : ms / times;
}

// Random values in [0, 1): products of zeros draw less power and run faster. Width: bytes per
// element, 4 or 2; 2-byte elements are float16, or bfloat16 if `brain`.
void fill(const Memory& m, int64_t elements, int width, bool brain);

}  // namespace tenon::lower_bounds
