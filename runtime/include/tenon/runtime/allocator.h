// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The caching allocator over a device's raw memory. One policy for every device: blocks are kept by
// size class; small ones per thread (host memory), large ones in a shared pool that splits and
// merges. On a device with streams a freed block is reused immediately on its own stream, and by
// others after an event.
#pragma once

#include <cstdint>

#include "tenon/runtime/block.h"
#include "tenon/runtime/device.h"

namespace tenon::core {

// OutOfMemoryError after one retry with an emptied cache.
TENON_API Block cache_alloc(DeviceId device, uint64_t bytes, tn_stream* stream);
TENON_API void cache_free(DeviceId device, const Block& b, tn_stream* stream) noexcept;
// The block is used on a further stream; it is not reused before that stream passed this point.
TENON_API void cache_record_stream(DeviceId device, const Block& b, tn_stream* stream);
// Gives unused memory back to the device. Of the host's small blocks, those of this thread.
TENON_API void cache_trim(DeviceId device);

TENON_API MemoryStats memory_stats(DeviceId device);

}  // namespace tenon::core
