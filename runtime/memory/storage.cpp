// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/storage.h"

#include <new>

#include "runtime/device/device.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/pool.h"

namespace tenon::core {

struct StorageAccess {
  static Storage* make(DeviceId device) {
    return new (pool_alloc(sizeof(Storage))) Storage(device);
  }
  static void release(Storage* s) noexcept {
    s->~Storage();
    pool_free(s, sizeof(Storage));
  }
};

namespace {

// Ids are handed to threads in runs, so that threads do not share a counter.
uint64_t next_storage_id() noexcept {
  static std::atomic<uint64_t> runs{0};
  static __thread uint64_t next __attribute__((tls_model("initial-exec"))) = 0;
  constexpr uint64_t kRun = 1u << 20;
  if (TENON_UNLIKELY(next % kRun == 0))
    next = runs.fetch_add(1, std::memory_order_relaxed) * kRun + 1;
  return next++;
}

void fill(Storage& s, uint64_t bytes) {
  s.head.id = next_storage_id();
  s.head.writes = 0;
  s.head.bytes = bytes;
  s.head.flags = 0;
  s.head.reserved = 0;
  s.base = 0;
  s.bytes = bytes;
  s.version.store(0, std::memory_order_relaxed);
  s.pinned = false;
  s.stream = nullptr;
}

// The host, or the current device of the type.
TENON_COLD DeviceId current_of_type(DeviceId device) {
  return device.is_host() ? kHost : DeviceId(device.slot, current_index(device.slot));
}

void keep_data(void*, void*) {}

}  // namespace

Ref<Storage> Storage::make(DeviceId device, uint64_t bytes) {
  if (TENON_UNLIKELY(device.index < 0)) return make(current_of_type(device), bytes);
  tn_stream* stream = device.is_host() ? nullptr : current_stream(device);
  Block b = cache_alloc(device, bytes, stream);
  Storage* s;
  try {
    s = StorageAccess::make(device);
  } catch (...) {
    cache_free(device, b, stream);
    throw;
  }
  fill(*s, bytes);
  if (!device.is_host() && (device_entry(device).flags & TN_DEVICE_OPAQUE)) {
    s->data = b.handle;
    s->base = b.offset;
  } else {
    s->data = static_cast<char*>(b.handle) + b.offset;
  }
  s->stream = stream;
  s->deleter = nullptr;
  s->deleter_context = b.owner;
  return Ref<Storage>::adopt(s);
}

Ref<Storage> Storage::wrap(DeviceId device, void* data, uint64_t bytes, Deleter deleter,
                           void* context) {
  if (device.index < 0) return wrap(current_of_type(device), data, bytes, deleter, context);
  Storage* s = StorageAccess::make(device);
  fill(*s, bytes);
  s->data = data;
  s->deleter = deleter != nullptr ? deleter : keep_data;
  s->expose();
  s->deleter_context = context;
  return Ref<Storage>::adopt(s);
}

void Storage::destroy(Storage* s) noexcept {
  if (s->deleter != nullptr) {
    s->deleter(s->deleter_context, s->data);
  } else {
    cache_free(s->device, Block{s->data, s->base, s->bytes, s->deleter_context}, s->stream);
  }
  StorageAccess::release(s);
}

void VersionCounter::destroy(VersionCounter* c) noexcept { pool_free(c, sizeof(VersionCounter)); }

}  // namespace tenon::core
