// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/device/sort.h"

#include "plugin_cuda/device/launch.cuh"

#pragma nv_diag_suppress 20012, 20013, 20014, 20015
#include <cub/device/device_radix_sort.cuh>

namespace tenon::cuda {

std::size_t sort_scratch(int64_t n) {
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(
            nullptr, bytes, static_cast<const uint64_t*>(nullptr), static_cast<uint64_t*>(nullptr),
            static_cast<const uint32_t*>(nullptr), static_cast<uint32_t*>(nullptr), n),
        "cub::DeviceRadixSort::SortPairs");
  return bytes;
}

void sort_pairs(const sdk::Call& call, const Pairs& p, int bits, void* scratch,
                std::size_t scratch_bytes) {
  const int index = device_of(call);
  DeviceGuard on(index);
  cudaStream_t stream = native(index, call.stream());
  const cudaError_t status = cub::DeviceRadixSort::SortPairs(
      scratch, scratch_bytes, static_cast<const uint64_t*>(p.keys), p.keys_out,
      static_cast<const uint32_t*>(p.values), p.values_out, p.n, 0, bits, stream);
  launched(status, index, stream, "cub::DeviceRadixSort::SortPairs");
}

}  // namespace tenon::cuda
