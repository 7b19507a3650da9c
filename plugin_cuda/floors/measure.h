// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the floors share: memory, and time on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

namespace tenon::floors {

// Zeroed memory of the device; null where it has no room.
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

// Milliseconds of one of `times` runs on the default stream, behind one that is not timed. Negative: it failed.
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
  if (cudaEventSynchronize(end) != cudaSuccess || cudaEventElapsedTime(&ms, begin, end) != cudaSuccess) ms = -1;
  if (cudaGetLastError() != cudaSuccess) ms = -1;
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return ms < 0 ? -1 : ms / times;
}

// Numbers in [0, 1): a multiplier of zeros draws less power, and runs faster for it. Width: bytes an element, 4 or 2;
// those of 2 bytes are float16, or bfloat16.
void fill(const Memory& m, int64_t elements, int width, bool brain);

}  // namespace tenon::floors
