// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Memory, launches and timing for kernels in development: on a device under nvcc, or in the
// emulator, which only checks, under TENON_CUDA_EMULATED.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

#include "plugin_cuda/device/device.cuh"

namespace tenon::cuda::kernel_lab {

#if defined(TENON_CUDA_EMULATED)
inline constexpr bool kMeasures = false;
#else
inline constexpr bool kMeasures = true;

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(2);
}
#endif

inline bool has_device() {
#if defined(TENON_CUDA_EMULATED)
  return true;
#else
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess && n > 0;
#endif
}

// n elements on the device, or on the host for the emulator, in an allocation of their own.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t n) : n_(n) {
#if defined(TENON_CUDA_EMULATED)
    p_ = static_cast<T*>(std::aligned_alloc(256, (n * sizeof(T) + 255) / 256 * 256));
#else
    check(cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(T)), "cudaMalloc");
#endif
  }
  ~Buffer() {
#if defined(TENON_CUDA_EMULATED)
    std::free(p_);
#else
    cudaFree(p_);
#endif
  }
  Buffer(const Buffer&) = delete;
  T* get() const { return p_; }
  void upload(const std::vector<T>& from) { copy(p_, from.data()); }
  std::vector<T> download() const {
    std::vector<T> out(n_);
    copy(out.data(), p_);
    return out;
  }
  // Sets every bit, so that elements which no kernel writes are wrong.
  void poison() {
#if defined(TENON_CUDA_EMULATED)
    std::memset(static_cast<void*>(p_), 0xff, n_ * sizeof(T));
#else
    check(cudaMemset(p_, 0xff, n_ * sizeof(T)), "cudaMemset");
#endif
  }

 private:
  void copy(void* to, const void* from) const {
#if defined(TENON_CUDA_EMULATED)
    std::memcpy(to, from, n_ * sizeof(T));
#else
    check(cudaMemcpy(to, from, n_ * sizeof(T), cudaMemcpyDefault), "cudaMemcpy");
#endif
  }
  T* p_ = nullptr;
  std::size_t n_;
};

template <auto Kernel, class... P>
void start_as(void (*)(P...), int64_t grid, int block, P... args) {
#if defined(TENON_CUDA_EMULATED)
  const emulator::Launch how{
      "kernel_lab", {static_cast<unsigned>(grid)}, {static_cast<unsigned>(block)}, 0};
  emulator::run(how, [&] { Kernel(args...); });
#else
  void* pointers[] = {static_cast<void*>(&args)..., nullptr};
  const dim3 g(static_cast<unsigned>(grid)), b(static_cast<unsigned>(block));
  check(cudaLaunchKernel(reinterpret_cast<const void*>(Kernel), g, b, pointers, 0, nullptr),
        "launch");
#endif
}

template <auto Kernel, class... A>
void start(int64_t grid, int block, A... args) {
  start_as<Kernel>(Kernel, grid, block, args...);
}

// Milliseconds of one run: the minimum of several measurements.
template <class F>
double milliseconds(F&& run) {
#if defined(TENON_CUDA_EMULATED)
  (void)run;
  return 0;
#else
  constexpr int kRuns = 20, kTries = 7;
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  float best = 1e30f;
  for (int i = 0; i < kTries; ++i) {
    check(cudaEventRecord(begin), "cudaEventRecord");
    for (int k = 0; k < kRuns; ++k) run();
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    best = std::min(best, ms / kRuns);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return best;
#endif
}

// GB/s of a copy that reads and writes `bytes` in total: the upper bound for kernels that move as
// many.
inline double copy_rate(std::size_t bytes) {
#if defined(TENON_CUDA_EMULATED)
  (void)bytes;
  return 0;
#else
  Buffer<char> from(bytes / 2), to(bytes / 2);
  const double ms = milliseconds([&] {
    check(cudaMemcpyAsync(to.get(), from.get(), bytes / 2, cudaMemcpyDeviceToDevice, nullptr),
          "cudaMemcpyAsync");
  });
  return static_cast<double>(bytes) / ms * 1e-6;
#endif
}

// A version on one shape; true if its values are the reference's.
struct Report {
  const char* kernel;
  const char* shape;
  double copy_rate;
  bool print(const char* version, double error, double limit, std::size_t bytes, double ms) const {
    const bool right = error <= limit;  // a NaN is not
    std::printf("%-9s %-12s %-34s %-5s error %.1e", kernel, shape, version,
                right ? "right" : "WRONG", error);
    if (kMeasures) {
      const double rate = static_cast<double>(bytes) / ms * 1e-6;
      std::printf("  %6.0f GB/s, %3.0f %% of a copy", rate, 100 * rate / copy_rate);
    }
    std::printf("\n");
    return right;
  }
};

}  // namespace tenon::cuda::kernel_lab
