// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the caching allocator returns, and its statistics.
#pragma once

#include <cstdint>

namespace tenon::core {

struct Block {
  void* handle;     // of the device's memory
  uint64_t offset;  // of this block in it, in bytes
  uint64_t bytes;   // what the block has, at least what was asked for
  void* owner;  // the allocator's own; null for small host blocks, whose bytes then suffice to free
                // them
};

// For the host, whose threads count separately, the peaks are sums of per-thread peaks: upper
// bounds.
struct MemoryStats {
  uint64_t allocated, allocated_peak;        // bytes of the blocks in use
  uint64_t reserved, reserved_peak;          // bytes taken from the device
  uint64_t allocations, device_allocations;  // calls
};

}  // namespace tenon::core
