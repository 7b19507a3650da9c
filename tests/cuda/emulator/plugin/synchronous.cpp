// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Synchronous launches on a device in host memory.
#include <cstring>

#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

void emulate(const sdk::Call&, const emulator::Launch& launch, void (*body)(void*), void* arg,
             void (*release)(void*)) {
  try {
    emulator::run(launch, body, arg);
  } catch (const emulator::Fault& e) {
    release(arg);
    throw sdk::Error(TN_ERROR_BACKEND, "emulated launch: ", std::string_view(e.what()));
  }
  release(arg);
}

void read_back(const sdk::Call&, void* host, const void* device, std::size_t bytes) {
  std::memcpy(host, device, bytes);
}

}  // namespace tenon::cuda
