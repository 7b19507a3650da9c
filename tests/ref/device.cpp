// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A synchronous device whose memory comes from malloc. TN_DEVICE_HOST_READABLE is off on purpose:
// the host must read its memory through copy, as on a real accelerator.
#include "device.h"

#include <cstdlib>
#include <cstring>

namespace tenon::ref {
namespace {

constexpr uint32_t kAlignment = 64;

tn_status count(void*, int32_t* n) {
  *n = 1;
  return TN_OK;
}

tn_status props(void*, int32_t, tn_device_props* out) {
  std::strncpy(out->name, "reference", sizeof out->name - 1);
  out->total_bytes = uint64_t{1} << 32;
  out->free_bytes = out->total_bytes;
  out->alignment = kAlignment;
  out->flags = 0;
  out->compute_units = 1;
  return TN_OK;
}

tn_status alloc(void*, int32_t, uint64_t bytes, tn_stream*, void** handle) {
  // Not a byte more, so that the address sanitizer sees the end.
  return posix_memalign(handle, kAlignment, bytes) == 0 ? TN_OK : TN_ERROR_MEMORY;
}

void release(void*, int32_t, void* handle, uint64_t, tn_stream*) { std::free(handle); }

tn_status copy(void*, tn_device, void* dst, uint64_t dst_offset, tn_device, const void* src,
               uint64_t src_offset, uint64_t bytes, tn_stream*) {
  std::memmove(static_cast<char*>(dst) + dst_offset, static_cast<const char*>(src) + src_offset,
               bytes);
  return TN_OK;
}

tn_status sync(void*, int32_t, tn_stream*) { return TN_OK; }

tn_status fill(void*, int32_t, void* dst, uint64_t offset, const void* pattern,
               uint32_t pattern_bytes, uint64_t n, tn_stream*) {
  char* p = static_cast<char*>(dst) + offset;
  for (uint64_t i = 0; i < n; ++i) std::memcpy(p + i * pattern_bytes, pattern, pattern_bytes);
  return TN_OK;
}

constexpr tn_device_api make() {
  tn_device_api api{};
  api.struct_size = sizeof api;
  api.count = count;
  api.props = props;
  api.alloc = alloc;
  api.free = release;
  api.copy = copy;
  api.sync = sync;
  api.fill = fill;
  return api;
}

}  // namespace

extern const tn_device_api kDeviceApi = make();

}  // namespace tenon::ref
