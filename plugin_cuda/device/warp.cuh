// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions and scans of a warp's values, all 32 lanes present. `op` is associative and need not
// commute.
#pragma once

#include "plugin_cuda/device/device.cuh"

namespace tenon::cuda {

TN_DEVICE int lane() { return static_cast<int>(threadIdx.x % kWarp); }
TN_DEVICE int warp_in_block() { return static_cast<int>(threadIdx.x / kWarp); }

// move(word) for each 32-bit word of a trivially copyable value.
template <class T, class Move>
TN_DEVICE T shuffled(T v, Move move) {
  constexpr int kWords = static_cast<int>((sizeof(T) + 3) / 4);
  uint32_t words[kWords] = {};
  std::memcpy(words, &v, sizeof v);
  for (int i = 0; i < kWords; ++i) words[i] = move(words[i]);
  std::memcpy(static_cast<void*>(&v), words, sizeof v);
  return v;
}
template <class T>
TN_DEVICE T shuffle_down(T v, int delta) {
  return shuffled(v, [delta](uint32_t w) { return __shfl_down_sync(kAllLanes, w, delta, kWarp); });
}
template <class T>
TN_DEVICE T shuffle_up(T v, int delta) {
  return shuffled(v, [delta](uint32_t w) { return __shfl_up_sync(kAllLanes, w, delta, kWarp); });
}
template <class T>
TN_DEVICE T shuffle_from(T v, int source) {
  return shuffled(v, [source](uint32_t w) { return __shfl_sync(kAllLanes, w, source, kWarp); });
}

// In lane 0, in the order of the lanes.
template <class T, class Op>
TN_DEVICE T warp_reduce(T v, Op op) {
  for (int k = 1; k < kWarp; k *= 2) {
    const T next = shuffle_down(v, k);
    v = op(v, next);
  }
  return v;
}

// In lane i: of lanes 0 to i.
template <class T, class Op>
TN_DEVICE T warp_inclusive_scan(T v, Op op) {
  for (int k = 1; k < kWarp; k *= 2) {
    const T before = shuffle_up(v, k);
    if (lane() >= k) v = op(before, v);
  }
  return v;
}

}  // namespace tenon::cuda
