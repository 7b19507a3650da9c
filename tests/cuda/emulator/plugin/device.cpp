// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The reference device, in the host's memory, on which kernels run in the emulator, each before its launch returns.
#include <cstring>

#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/plugin.h"
#include "tests/ref/device.h"

namespace tenon::cuda {

void emulate(const sdk::Call&, const emulator::Launch& launch, void (*body)(void*), void* arg, void (*release)(void*)) {
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

TN_PLUGIN(
    tenon::sdk::PluginInfo{}.name("cuda_emulated").vendor("Tenon").device("cuda").device_api(&tenon::ref::kDeviceApi));
