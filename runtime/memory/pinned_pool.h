// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Blocks of host memory that devices pinned. They are kept for later requests, as pinning and its
// end make the host wait for the device. Private to libtenon_core.
#pragma once

#include <cstdint>

#include "tenon/runtime/device.h"

namespace tenon::core {

struct PinnedBlock {
  static constexpr int kUses = 4;
  // A stream that the host does not wait for, and an event after what it did with the memory.
  struct Use {
    DeviceId device = kHost;
    tn_stream* stream = nullptr;
    tn_event* event = nullptr;
  };
  const tn_device_api* api;
  void* data;
  uint64_t bytes;
  DeviceSlot slot;
  PinnedBlock* next = nullptr;
  int n_uses = 0;
  Use uses[kUses];
  bool reusable = true;  // whether `uses` are all
};

// Of at least `bytes`; null if the device has none, also after all that was kept went back.
PinnedBlock* take_pinned(DeviceSlot slot, const tn_device_api* api, uint64_t bytes);
// For later requests, which get it once its streams passed.
void drop_pinned(PinnedBlock* b) noexcept;
// The stream was given work that reads or writes the block; one of another plugin's device is
// waited for. Any thread that has the block may call.
void record_use(PinnedBlock& b, DeviceId device, tn_stream* stream) noexcept;
// Gives back what is kept, after the streams that use it. Trimming does nothing while a stream is
// captured.
void trim_pinned(DeviceSlot slot) noexcept;
void release_pinned(DeviceSlot slot) noexcept;
// Taken and not dropped.
TENON_API int64_t pinned_blocks(DeviceSlot slot) noexcept;

}  // namespace tenon::core
