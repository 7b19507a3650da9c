// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/pinned.h"

#include "runtime/base/in_flight.h"
#include "runtime/memory/pinned_pool.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

void drop(void* block, void*) { drop_pinned(static_cast<PinnedBlock*>(block)); }

// The slot of a device that can pin; the host's if there is none.
DeviceSlot pinning_device() {
  for (int i = 1, n = device_slots(); i < n; ++i) {
    const tn_device_api* api = device_entry(i).api;
    if (api != nullptr && TN_HAS(api, tn_device_api, free_pinned) && api->alloc_pinned &&
        api->free_pinned)
      return i;
  }
  return kHostSlot;
}

}  // namespace

Ref<Storage> make_pinned(uint64_t bytes) {
  InFlight inside;
  const DeviceSlot slot = pinning_device();
  const tn_device_api* api = !is_host_slot(slot) ? device_entry(slot).api : nullptr;
  if (api == nullptr || bytes == 0) return Storage::make(kHost, bytes);
  PinnedBlock* const b = take_pinned(slot, api, bytes);
  TENON_CHECK(b != nullptr, OutOfMemoryError, "out of memory on cpu: wanted ", bytes,
              " bytes of pinned memory");
  Ref<Storage> s;
  try {
    s = Storage::wrap(kHost, b->data, bytes, drop, b);
  } catch (...) {
    drop_pinned(b);
    throw;
  }
  s->pinned = true;
  return s;
}

void record_pinned_use(const Storage& storage, DeviceId device, tn_stream* stream) noexcept {
  if (storage.deleter == drop)
    record_use(*static_cast<PinnedBlock*>(storage.deleter_context), device, stream);
}

}  // namespace tenon::core
