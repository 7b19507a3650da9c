// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Launches of the whole plugin: work items of the fake runtime's streams.
#include <cstdio>
#include <cstdlib>

// Before the emulator's macros, whose names are fields of its structs.
#include "plugin_cuda/runtime/runtime.h"
//
#include "plugin_cuda/device/launch.cuh"
#include "tests/cuda/fake/control.h"

namespace tenon::cuda {
namespace {

struct Work {
  emulator::Launch launch;
  void (*body)(void*);
  void* arg;
  void (*release)(void*);
  ~Work() { release(arg); }
};

void run(void* p) {
  const Work& w = *static_cast<Work*>(p);
  try {
    emulator::run(w.launch, w.body, w.arg);
  } catch (const emulator::Fault& e) {
    std::fprintf(stderr, "emulated launch: %s\n", e.what());
    std::abort();
  }
}

}  // namespace

void emulate(const sdk::Call& call, const emulator::Launch& launch, void (*body)(void*), void* arg,
             void (*release)(void*)) {
  const int index = device_of(call);
  Work* work = new Work{launch, body, arg, release};
  DeviceGuard on(index);
  cudaStream_t stream = native(index, call.stream());
  const int status = tenon_fake_enqueue_owned(
      stream, run, [](void* p) { delete static_cast<Work*>(p); }, work);
  launched(static_cast<cudaError_t>(status), index, stream, launch.kernel);
}

void read_back(const sdk::Call& call, void* host, const void* device, std::size_t bytes) {
  const int index = device_of(call);
  DeviceGuard on(index);
  cudaStream_t stream = native(index, call.stream());
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync",
        index);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", index);
}

}  // namespace tenon::cuda
