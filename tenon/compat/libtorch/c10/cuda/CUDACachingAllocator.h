// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The memory that is kept of a GPU, by libtorch's names.
#pragma once

#include <c10/cuda/CUDAFunctions.h>

#include <array>
#include <cstdint>

#include "tenon/runtime/allocator.h"

namespace c10::CachingDeviceAllocator {

struct Stat {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
};
using StatArray = std::array<Stat, 3>;  // of all, small and large blocks; the last two stay 0

// What is not counted here stays 0.
struct DeviceStats {
  StatArray allocation, segment, active, inactive_split;  // numbers of
  StatArray allocated_bytes, reserved_bytes, active_bytes, inactive_split_bytes, requested_bytes;
  Stat oversize_allocations, oversize_segments;
  int64_t num_alloc_retries = 0, num_ooms = 0, num_sync_all_streams = 0, num_device_alloc = 0,
          num_device_free = 0, max_split_size = 0;
};

}  // namespace c10::CachingDeviceAllocator

namespace c10::cuda::CUDACachingAllocator {

using CachingDeviceAllocator::DeviceStats;
using CachingDeviceAllocator::Stat;
using CachingDeviceAllocator::StatArray;

// Memory that no tensor uses goes back to the devices.
inline void emptyCache() {
  for (DeviceIndex i = 0; i < device_count(); ++i)
    ::tenon::core::cache_trim(::tenon::core::device_id(Device(DeviceType::CUDA, i)));
}

inline DeviceStats getDeviceStats(DeviceIndex device) {
  const ::tenon::core::MemoryStats now =
      ::tenon::core::memory_stats(::tenon::core::device_id(Device(DeviceType::CUDA, device)));
  const auto bytes = [](uint64_t current, uint64_t peak) {
    return StatArray{Stat{static_cast<int64_t>(current), static_cast<int64_t>(peak), 0, 0}};
  };
  DeviceStats out;
  out.allocated_bytes = bytes(now.allocated, now.allocated_peak);
  out.active_bytes = out.requested_bytes = out.allocated_bytes;
  out.reserved_bytes = bytes(now.reserved, now.reserved_peak);
  out.allocation[0].allocated = static_cast<int64_t>(now.allocations);
  out.segment[0].allocated = static_cast<int64_t>(now.device_allocations);
  out.num_device_alloc = static_cast<int64_t>(now.device_allocations);
  return out;
}

}  // namespace c10::cuda::CUDACachingAllocator
