// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Replaces plugin_cuda/device/sort.cu: one thread of a launch sorts, in stream order.
#include "plugin_cuda/device/sort.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {
namespace {

void sort_in_one_thread(Pairs p, int bits) {
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<std::size_t> order(static_cast<std::size_t>(p.n));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return (p.keys[a] & mask) < (p.keys[b] & mask);
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    p.keys_out[i] = p.keys[order[i]];
    p.values_out[i] = p.values[order[i]];
  }
}

}  // namespace

std::size_t sort_scratch(int64_t) { return 16; }

void sort_pairs(const sdk::Call& call, const Pairs& pairs, int bits, void* scratch,
                std::size_t bytes) {
  if (scratch == nullptr || bytes < 16)
    throw sdk::Error(TN_ERROR, "sort_pairs() was given no scratch");
  launch<sort_in_one_thread>(call, exactly(1, 1), pairs, bits);
}

}  // namespace tenon::cuda
