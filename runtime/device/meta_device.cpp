// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The device "meta": tensors there have sizes, strides and a dtype, and no elements. A block is a
// number; nothing is allocated.
#include <atomic>
#include <cstring>

#include "tenon/runtime/device.h"

namespace tenon::core {
namespace {

tn_status count_one(void*, int32_t* n) {
  *n = 1;
  return TN_OK;
}

tn_status props(void*, int32_t, tn_device_props* out) {
  tn_device_props p{};
  p.struct_size = sizeof p;
  std::strcpy(p.name, "meta");
  p.total_bytes = p.free_bytes = UINT64_MAX;
  p.alignment = 64;
  p.flags = TN_DEVICE_OPAQUE;
  std::memcpy(out, &p, out->struct_size < sizeof p ? out->struct_size : sizeof p);
  return TN_OK;
}

tn_status alloc(void*, int32_t, uint64_t, tn_stream*, void** handle) {
  static std::atomic<uintptr_t> last{0};
  *handle = reinterpret_cast<void*>(last.fetch_add(1, std::memory_order_relaxed) + 1);
  return TN_OK;
}

void release(void*, int32_t, void*, uint64_t, tn_stream*) {}

// Into the device alone: the dispatcher refuses the other direction.
tn_status copy(void*, tn_device, void*, uint64_t, tn_device, const void*, uint64_t, uint64_t,
               tn_stream*) {
  return TN_OK;
}

tn_status sync(void*, int32_t, tn_stream*) { return TN_OK; }

constexpr tn_device_api make_api() {
  tn_device_api api{};
  api.struct_size = sizeof(tn_device_api);
  api.count = count_one;
  api.props = props;
  api.alloc = alloc;
  api.free = release;
  api.copy = copy;
  api.sync = sync;
  return api;
}

constexpr tn_device_api kMetaApi = make_api();

}  // namespace

const tn_device_api& meta_device_api() noexcept { return kMetaApi; }

}  // namespace tenon::core
