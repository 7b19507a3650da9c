// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The functions of a device, a table for PluginInfo::device_api():
//
//   constexpr tn_device_api kDevice = DeviceFunctions(count, props, alloc, release, copy,
//   sync).fill(fill);
//
// The constructor takes the six required functions; no two have the same type. A device whose
// memory comes from malloc begins with malloc_device(props) instead, and any device may use the
// functions that stand below.
#pragma once

#include <cstdlib>
#include <cstring>

#include "tenon/abi/device.h"

namespace tenon::sdk {

// Fields as in tn_device_api, to which it converts.
class DeviceFunctions {
  using Api = tn_device_api;

 public:
  constexpr DeviceFunctions(decltype(Api::count) count, decltype(Api::props) props,
                            decltype(Api::alloc) alloc, decltype(Api::free) free,
                            decltype(Api::copy) copy, decltype(Api::sync) sync)
      : api_{} {
    api_.struct_size = sizeof(Api);
    api_.count = count;
    api_.props = props;
    api_.alloc = alloc;
    api_.free = free;
    api_.copy = copy;
    api_.sync = sync;
  }
  constexpr operator tn_device_api() const { return api_; }

  constexpr DeviceFunctions fill(decltype(Api::fill) f) const {
    DeviceFunctions d = *this;
    d.api_.fill = f;
    return d;
  }
  constexpr DeviceFunctions streams(decltype(Api::stream_create) create,
                                    decltype(Api::stream_destroy) destroy,
                                    decltype(Api::stream_sync) sync = nullptr,
                                    decltype(Api::stream_query) query = nullptr) const {
    DeviceFunctions d = *this;
    d.api_.stream_create = create;
    d.api_.stream_destroy = destroy;
    d.api_.stream_sync = sync;
    d.api_.stream_query = query;
    return d;
  }
  constexpr DeviceFunctions native_stream(decltype(Api::native_stream) f) const {
    DeviceFunctions d = *this;
    d.api_.native_stream = f;
    return d;
  }
  // Core uses events if the first five are there.
  constexpr DeviceFunctions events(decltype(Api::event_create) create,
                                   decltype(Api::event_destroy) destroy,
                                   decltype(Api::event_record) record,
                                   decltype(Api::event_wait) wait, decltype(Api::event_query) query,
                                   decltype(Api::event_elapsed) elapsed = nullptr,
                                   decltype(Api::event_sync) sync = nullptr) const {
    DeviceFunctions d = *this;
    d.api_.event_create = create;
    d.api_.event_destroy = destroy;
    d.api_.event_record = record;
    d.api_.event_wait = wait;
    d.api_.event_query = query;
    d.api_.event_elapsed = elapsed;
    d.api_.event_sync = sync;
    return d;
  }
  constexpr DeviceFunctions pinned(decltype(Api::alloc_pinned) alloc,
                                   decltype(Api::free_pinned) free) const {
    DeviceFunctions d = *this;
    d.api_.alloc_pinned = alloc;
    d.api_.free_pinned = free;
    return d;
  }
  constexpr DeviceFunctions last_error(decltype(Api::last_error) f) const {
    DeviceFunctions d = *this;
    d.api_.last_error = f;
    return d;
  }

 private:
  Api api_;
};

// ---- Functions that several devices have ----

constexpr uint32_t kHostAlignment = 64;  // of blocks from alloc_host

// For a plugin with one device.
inline tn_status count_one(void*, int32_t* n) {
  *n = 1;
  return TN_OK;
}

// For a device whose functions return when their work is done.
inline tn_status sync_nothing(void*, int32_t, tn_stream*) { return TN_OK; }

// Not a byte more, so that the address sanitizer sees the end.
inline tn_status alloc_host(void*, int32_t, uint64_t bytes, tn_stream*, void** handle) {
  return posix_memalign(handle, kHostAlignment, bytes) == 0 ? TN_OK : TN_ERROR_MEMORY;
}
inline void free_host(void*, int32_t, void* handle, uint64_t, tn_stream*) { std::free(handle); }

inline tn_status copy_host(void*, tn_device, void* dst, uint64_t dst_offset, tn_device,
                           const void* src, uint64_t src_offset, uint64_t bytes, tn_stream*) {
  std::memmove(static_cast<char*>(dst) + dst_offset, static_cast<const char*>(src) + src_offset,
               bytes);
  return TN_OK;
}

inline tn_status fill_host(void*, int32_t, void* dst, uint64_t offset, const void* pattern,
                           uint32_t pattern_bytes, uint64_t count, tn_stream*) {
  char* p = static_cast<char*>(dst) + offset;
  for (uint64_t i = 0; i < count; ++i) std::memcpy(p + i * pattern_bytes, pattern, pattern_bytes);
  return TN_OK;
}

// One synchronous device whose memory comes from malloc; its alignment is kHostAlignment.
constexpr DeviceFunctions malloc_device(decltype(tn_device_api::props) props) {
  return DeviceFunctions(count_one, props, alloc_host, free_host, copy_host, sync_nothing);
}

}  // namespace tenon::sdk
