// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The one table of device types. Private to core.
#pragma once

#include <atomic>
#include <mutex>

#include "tenon/core/device.h"

namespace tenon::core {

// Entries up to `count` are complete but for what attach_device fills in.
struct DeviceRegistry {
  DeviceRegistry();
  DeviceEntry entries[kMaxDevices];
  std::atomic<int> count{0};
  std::atomic<bool> tried[kMaxDevices] = {};  // opening of its plugins
  int foreign = 0;
  std::mutex lock;
};

DeviceRegistry& device_registry();

}  // namespace tenon::core
