// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// launch<kernel<T>>(call, {grid, block, shared_bytes}, args...): the only way to start kernels.
#pragma once

#include <algorithm>

#include "plugin_cuda/device/device.cuh"
#include "tenon/sdk/kernel.h"

#if !defined(TENON_CUDA_EMULATED)
#include "plugin_cuda/runtime/runtime.h"
#endif

namespace tenon::cuda {

struct Shape {
  int64_t grid = 1;
  int block = 256;
  std::size_t shared_bytes = 0;
  bool exact = false;  // the kernel needs this block size; others are tested with several
};
inline Shape exactly(int64_t grid, int block) { return {grid, block, 0, true}; }

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Parts that long sums are cut into. Not max_blocks(): results must not depend on the GPU.
inline constexpr int64_t kWantedParts = 2112;

// The device of a call: that of its first tensor.
inline int device_of(const sdk::Call& call) {
  const tn_call* c = call.abi();
  const auto find = [](const tn_value* v, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      if (v[i].tag == TN_TAG_TENSOR && v[i].u.tensor->device.type != TN_CPU)
        return v[i].u.tensor->device.index;
      if (v[i].tag != TN_TAG_TENSOR_LIST) continue;
      for (uint32_t k = 0; k < v[i].len; ++k) {
        if (v[i].u.tensors[k] != nullptr) return v[i].u.tensors[k]->device.index;
      }
    }
    return -1;
  };
  const int out = find(c->out, c->n_out);
  const int in = out < 0 ? find(c->in, c->n_in) : out;
  return in < 0 ? 0 : in;
}

// 16 blocks per multiprocessor of the call's device; kernels loop over the rest.
inline int64_t max_blocks(const sdk::Call& call) {
#if defined(TENON_CUDA_EMULATED)
  (void)call;
  constexpr int64_t multiprocessors = 132;  // of an H100
#else
  const int64_t multiprocessors = gpu(device_of(call)).props.multiProcessorCount;
#endif
  return 16 * multiprocessors;
}

// Blocks for n elements, `each` of them per thread at a time.
inline Shape shape_for(const sdk::Call& call, int64_t n, int block = 256, int64_t each = 1) {
  return {std::clamp<int64_t>(ceil_div(n, block * each), 1, max_blocks(call)), block, 0};
}

// "... [with auto Kernel = name]"
template <auto Kernel>
constexpr const char* kernel_name() {
  return __PRETTY_FUNCTION__;
}

#if !defined(TENON_CUDA_EMULATED)
namespace detail {
// What kernels with these parameters share.
template <class... P>
struct Starter {
  static void start(const sdk::Call& call, const Shape& s, const void* kernel, const char* name,
                    P... arguments) {
    void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
    const int index = device_of(call);
    DeviceGuard on(index);  // native() may create a stream
    start_kernel(index, native(index, call.stream()), s.grid, s.block, s.shared_bytes, kernel,
                 pointers, name);
  }
};
template <class... P>
Starter<P...> starter_of(void (*)(P...));
}  // namespace detail

template <auto Kernel, class... A>
void launch(const sdk::Call& call, const Shape& s, const A&... args) {
  decltype(detail::starter_of(Kernel))::start(call, s, reinterpret_cast<const void*>(Kernel),
                                              kernel_name<Kernel>(), args...);
}

// Waits for the stream's work and copies to the host: for operators whose output sizes depend on
// the data.
inline void read_back(const sdk::Call& call, void* host, const void* device, std::size_t bytes) {
  const int index = device_of(call);
  DeviceGuard on(index);
  cudaStream_t stream = native(index, call.stream());
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync",
        index);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", index);
}
#endif

}  // namespace tenon::cuda

#if defined(TENON_CUDA_EMULATED)
#include "tenon_cuda_emulated_launch.h"
#endif
