// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The one table of device types, and what a plugin says of its device. Private to libtenon_core.
#pragma once

#include <atomic>

#include "runtime/base/leaf_mutex.h"
#include "tenon/runtime/device.h"

namespace tenon::core {

// Entries up to `count` are complete but for what attach_device fills in.
struct DeviceRegistry {
  DeviceRegistry();
  DeviceEntry entries[kMaxDevices];
  std::atomic<int> count{0};
  std::atomic<bool> tried[kMaxDevices] = {};  // opening of its plugins
  int foreign = 0;
  LeafMutex lock;
};

DeviceRegistry& device_registry();

// What a device's table says about it. BackendError for impossible values.
struct DeviceFacts {
  int32_t count;  // as the plugin says, which may be more than kMaxOrdinals
  uint32_t flags;
};
DeviceFacts ask_device(std::string_view name, const tn_device_api& api);

}  // namespace tenon::core
