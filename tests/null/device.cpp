// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A block is a small record; its handle is that record's number, not an address. Copies check their
// range and move nothing; what comes back to the host is zeros.
#include "device.h"

#include <cstring>
#include <map>
#include <mutex>

#include "counts.h"
#include "tenon/sdk/device.h"

namespace tenon::null_device {

Counts& counts() {
  static Counts c;
  return c;
}

namespace {

// Small odd numbers: dereferencing one faults, or its alignment is wrong.
struct Blocks {
  std::mutex mutex;
  std::map<uintptr_t, uint64_t> bytes;  // of each live handle
  uintptr_t next = 0x101;
};
Blocks& blocks() {
  static Blocks b;
  return b;
}

bool inside(const void* handle, uint64_t offset, uint64_t bytes) {
  Blocks& b = blocks();
  std::lock_guard<std::mutex> lock(b.mutex);
  auto it = b.bytes.find(reinterpret_cast<uintptr_t>(handle));
  return it != b.bytes.end() && offset <= it->second && bytes <= it->second - offset;
}

tn_status fault() {
  ++counts().faults;
  return TN_ERROR_BACKEND;
}

tn_status props(void*, int32_t, tn_device_props* out) {
  std::strncpy(out->name, "null", sizeof out->name - 1);
  out->total_bytes = uint64_t{1} << 40;
  out->free_bytes = out->total_bytes;
  out->alignment = 64;
  out->flags = TN_DEVICE_OPAQUE;
  out->compute_units = 1;
  return TN_OK;
}

tn_status alloc(void*, int32_t, uint64_t bytes, tn_stream*, void** handle) {
  ++counts().allocations;
  Blocks& b = blocks();
  std::lock_guard<std::mutex> lock(b.mutex);
  b.bytes[b.next] = bytes;
  *handle = reinterpret_cast<void*>(b.next);
  b.next += 2;
  return TN_OK;
}

void release(void*, int32_t, void* handle, uint64_t, tn_stream*) {
  Blocks& b = blocks();
  std::lock_guard<std::mutex> lock(b.mutex);
  if (b.bytes.erase(reinterpret_cast<uintptr_t>(handle)) == 0) ++counts().faults;
}

tn_status copy(void*, tn_device dst_device, void* dst, uint64_t dst_offset, tn_device src_device,
               const void* src, uint64_t src_offset, uint64_t bytes, tn_stream*) {
  ++counts().copies;
  if (src_device.type != TN_CPU && !inside(src, src_offset, bytes)) return fault();
  if (dst_device.type != TN_CPU) return inside(dst, dst_offset, bytes) ? TN_OK : fault();
  std::memset(static_cast<char*>(dst) + dst_offset, 0, bytes);
  return TN_OK;
}

}  // namespace

extern const tn_device_api kDeviceApi =
    sdk::DeviceFunctions(sdk::count_one, props, alloc, release, copy, sdk::sync_nothing);

}  // namespace tenon::null_device
