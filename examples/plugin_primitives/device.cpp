// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The device: malloc's memory, which the host must not read directly. It is synchronous.
#include <cstdlib>
#include <cstring>

#include "tenon/sdk/plugin.h"

namespace {

tn_status count(void*, int32_t* n) {
  *n = 1;
  return TN_OK;
}
tn_status props(void*, int32_t, tn_device_props* out) {
  std::strcpy(out->name, "thirteen primitives");
  out->total_bytes = out->free_bytes = uint64_t{1} << 32;
  out->alignment = 64;
  out->compute_units = 1;
  return TN_OK;
}
tn_status alloc(void*, int32_t, uint64_t bytes, tn_stream*, void** handle) {
  *handle = std::aligned_alloc(64, bytes / 64 * 64 + 64);
  return *handle ? TN_OK : TN_ERROR_MEMORY;
}
void release(void*, int32_t, void* handle, uint64_t, tn_stream*) { std::free(handle); }
tn_status copy(void*, tn_device, void* dst, uint64_t dst_offset, tn_device, const void* src,
               uint64_t src_offset, uint64_t bytes, tn_stream*) {
  std::memmove(static_cast<char*>(dst) + dst_offset, static_cast<const char*>(src) + src_offset,
               bytes);
  return TN_OK;
}
tn_status sync(void*, int32_t, tn_stream*) { return TN_OK; }

constexpr tn_device_api make_api() {
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
constexpr tn_device_api kApi = make_api();

}  // namespace

TN_PLUGIN(tenon::sdk::PluginInfo{}.name("prim").vendor("Tenon").device("prim").device_api(&kApi));
