// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device in the host's memory on which kernels run in the emulator, each before its launch returns.
#include <cstdlib>
#include <cstring>

#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/plugin.h"

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

namespace {

constexpr uint32_t kAlignment = 256;  // as cudaMalloc's

tn_status count(void*, int32_t* n) {
  *n = 1;
  return TN_OK;
}

tn_status props(void*, int32_t, tn_device_props* out) {
  std::strncpy(out->name, "emulated", sizeof out->name - 1);
  out->total_bytes = out->free_bytes = uint64_t{1} << 32;
  out->alignment = kAlignment;
  out->flags = 0;
  out->compute_units = 1;
  return TN_OK;
}

tn_status alloc(void*, int32_t, uint64_t bytes, tn_stream*, void** handle) {
  *handle = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment);
  return *handle ? TN_OK : TN_ERROR_MEMORY;
}

void release(void*, int32_t, void* handle, uint64_t, tn_stream*) { std::free(handle); }

tn_status copy(void*, tn_device, void* dst, uint64_t dst_offset, tn_device, const void* src, uint64_t src_offset,
               uint64_t bytes, tn_stream*) {
  std::memmove(static_cast<char*>(dst) + dst_offset, static_cast<const char*>(src) + src_offset, bytes);
  return TN_OK;
}

tn_status sync(void*, int32_t, tn_stream*) { return TN_OK; }

constexpr tn_device_api make() {
  tn_device_api api{};
  api.struct_size = sizeof api;
  api.count = count;
  api.props = props;
  api.alloc = alloc;
  api.free = release;
  api.copy = copy;
  api.sync = sync;
  return api;
}
constexpr tn_device_api kApi = make();

}  // namespace
}  // namespace tenon::cuda

TN_PLUGIN(tenon::sdk::PluginInfo{}.name("cuda_emulated").vendor("Tenon").device("cuda").device_api(&tenon::cuda::kApi));
