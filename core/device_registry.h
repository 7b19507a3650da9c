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

// device.cpp: what a device's table says of it. BackendError for what cannot be.
struct DeviceFacts {
  int32_t count;  // as the plugin says, which may be more than kMaxOrdinals
  uint32_t flags;
};
DeviceFacts ask_device(std::string_view name, const tn_device_api& api);
// device.cpp: detach_device, which says why not: ValueError, and nothing has changed, while memory that the device gave
// out is alive. Waits for the calls into the device that are under way.
TENON_API void release_device(int slot);
// device_state.cpp: what the kernels of a stream report into; device_error_word is that of the current one.
TENON_API tn_error_word* stream_error_word(int slot, int index, tn_stream* stream);
// allocator.cpp: all pools of a device, as DevicePool's. `close` says which ordinal has blocks alive, else -1.
int close_pools(int slot);
uint64_t blocks_alive(int slot, int index);
void open_pools(int slot);
// storage.cpp
int64_t pinned_blocks(int slot) noexcept;
// stream.cpp
int64_t events_alive(int slot) noexcept;
void drop_streams(int slot, const tn_device_api* api) noexcept;
// device_state.cpp: gives the device's error words back, with `api`. Nothing of the device is under way any more.
void drop_error_words(int slot, const tn_device_api* api) noexcept;

}  // namespace tenon::core
