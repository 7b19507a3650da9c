// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A plugin's device begins and ends.
#include "runtime/stream/attach_device.h"

#include <algorithm>
#include <mutex>

#include "runtime/base/in_flight.h"
#include "runtime/device/device.h"
#include "runtime/memory/allocator.h"
#include "runtime/memory/pinned_pool.h"
#include "runtime/stream/device_state.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/graph.h"
#include "tenon/runtime/log.h"
#include "tenon/runtime/stream.h"

namespace tenon::core {

int attach_device(DeviceSlot slot, const tn_device_api* api) {
  const DeviceEntry& known = device_entry(slot);
  TENON_CHECK(!is_host_slot(slot), ValueError, "the host device is core's own");
  bool complete = api != nullptr && TN_HAS(api, tn_device_api, sync) && api->count && api->props &&
                  api->alloc && api->free && api->copy && api->sync;
  TENON_CHECK(complete, BackendError, "device '", known.name,
              "': one of its six required functions is missing");
  const DeviceFacts facts = ask_device(known.name, *api);
  DeviceRegistry& r = device_registry();
  {
    std::lock_guard hold(r.lock);
    DeviceEntry& e = r.entries[slot];
    TENON_CHECK(e.api == nullptr || e.api == api, BackendError, "device '", e.name,
                "' is served by another plugin");
    e.flags = facts.flags;
    e.count = std::min<int32_t>(facts.count, kMaxOrdinals);
    __atomic_store_n(&e.api, api, __ATOMIC_RELEASE);
  }
  open_pools(slot);
  return facts.count;
}

namespace {

void set_api(DeviceEntry& e, const tn_device_api* api) {
  std::lock_guard hold(device_registry().lock);
  __atomic_store_n(&e.api, api, __ATOMIC_RELEASE);
}

}  // namespace

void release_device(DeviceSlot slot) {
  if (slot <= kHostSlot || slot >= device_slots()) return;
  DeviceEntry& e = device_registry().entries[slot];
  const tn_device_api* api = e.api;
  if (api == nullptr) return;
  if (int index = close_pools(slot); index >= 0) {
    throw ValueError(join("device ", e.name, ":", index,
                          " is in use: ", blocks_alive({slot, index}), " storages of tensors hold ",
                          memory_stats({slot, index}).allocated,
                          " bytes of it; release them first"));
  }
  set_api(e, nullptr);
  try {
    drain_flights();
    TENON_CHECK(graphs_alive(slot) == 0, ValueError, "device ", e.name,
                " is in use: ", graphs_alive(slot), " captured graphs are alive; reset them first");
    TENON_CHECK(pinned_blocks(slot) == 0, ValueError, "device ", e.name,
                " is in use: it pinned the memory of ", pinned_blocks(slot), " tensors");
    TENON_CHECK(events_alive(slot) == 0, ValueError, "device ", e.name,
                " is in use: ", events_alive(slot), " events are alive");
  } catch (...) {
    set_api(e, api);
    open_pools(slot);
    throw;
  }
  release_pinned(slot);
  drop_error_words(slot, api);
  drop_streams(slot, api);
  std::lock_guard hold(device_registry().lock);
  e.count = 0;
}

void detach_device(DeviceSlot slot) noexcept {
  try {
    release_device(slot);
  } catch (const std::exception& e) {
    log(TN_LOG_ERROR, e.what());
  }
}

}  // namespace tenon::core
