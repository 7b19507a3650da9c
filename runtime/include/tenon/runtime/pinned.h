// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pinned host memory: copies between it and a device need not be waited for.
#pragma once

#include <cstdint>

#include "tenon/runtime/storage.h"

namespace tenon::core {

// From a device that can pin; plain host memory where none can. Blocks that are not used any more
// are kept for later requests: pinning and its end make the host wait for the device.
// OutOfMemoryError after one retry with all of them given back.
TENON_API Ref<Storage> make_pinned(uint64_t bytes);
// The stream was given work that reads or writes the pinned memory, and the host does not wait for
// it: no other tensor gets the memory before the stream passed its present end.
TENON_API void record_pinned_use(const Storage& storage, DeviceId device, tn_stream* stream);
// Gives the kept blocks back; the device waits for streams that still use them.
void trim_pinned(DeviceSlot slot) noexcept;
// Of living tensors, of all that the device pinned.
TENON_API int64_t pinned_blocks(DeviceSlot slot) noexcept;

}  // namespace tenon::core
