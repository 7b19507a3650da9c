// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/extensions.h"

#include <atomic>

#include "tenon/runtime/device.h"

namespace tenon::core {
namespace {

std::atomic<const tn_ext*> g_extensions[kMaxDevices];

}  // namespace

const tn_ext* device_ext(DeviceSlot slot, uint32_t id) noexcept {
  const tn_ext* e = g_extensions[slot].load(std::memory_order_acquire);
  while (e != nullptr && e->id != id) e = e->next;
  return e;
}

void set_device_extensions(DeviceSlot slot, const tn_ext* first) noexcept {
  g_extensions[slot].store(first, std::memory_order_release);
}

}  // namespace tenon::core
