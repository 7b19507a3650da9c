// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::floors {

struct Memory {
  void* p = nullptr;
  explicit Memory(int64_t bytes) {
    if (cudaMalloc(&p, static_cast<size_t>(bytes)) != cudaSuccess) p = nullptr;
    if (p) cudaMemset(p, 0, static_cast<size_t>(bytes));
  }
  ~Memory() { cudaFree(p); }
  Memory(const Memory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(p);
  }
};

// Of `times` runs on the stream, by events.
template <class F>
double device_ms(int times, F run) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  run();
  cudaEventRecord(begin, nullptr);
  for (int i = 0; i < times; ++i) run();
  cudaEventRecord(end, nullptr);
  float ms = -1;
  if (cudaEventSynchronize(end) != cudaSuccess || cudaEventElapsedTime(&ms, begin, end) != cudaSuccess) ms = -1;
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return ms < 0 ? -1 : ms / times;
}

}  // namespace tenon::floors
