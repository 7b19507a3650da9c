// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Folds and scans of a warp's values, all 32 lanes present. `op` is associative and need not commute.
#pragma once

#include "plugin_cuda/device/device.cuh"

namespace tenon::cuda {

TN_DEVICE int lane() { return static_cast<int>(threadIdx.x % kWarp); }
TN_DEVICE int warp_in_block() { return static_cast<int>(threadIdx.x / kWarp); }

namespace detail {
template <class T>
struct Words {
  static constexpr int n = static_cast<int>((sizeof(T) + 3) / 4);
  uint32_t w[n] = {};
};
}  // namespace detail

// Values of any size that memcpy may copy.
template <class T>
TN_DEVICE T shuffle_down(T v, int delta) {
  detail::Words<T> words;
  std::memcpy(words.w, &v, sizeof v);
  for (int i = 0; i < words.n; ++i) words.w[i] = __shfl_down_sync(kAllLanes, words.w[i], delta, kWarp);
  std::memcpy(static_cast<void*>(&v), words.w, sizeof v);
  return v;
}
template <class T>
TN_DEVICE T shuffle_up(T v, int delta) {
  detail::Words<T> words;
  std::memcpy(words.w, &v, sizeof v);
  for (int i = 0; i < words.n; ++i) words.w[i] = __shfl_up_sync(kAllLanes, words.w[i], delta, kWarp);
  std::memcpy(static_cast<void*>(&v), words.w, sizeof v);
  return v;
}
template <class T>
TN_DEVICE T shuffle_from(T v, int source) {
  detail::Words<T> words;
  std::memcpy(words.w, &v, sizeof v);
  for (int i = 0; i < words.n; ++i) words.w[i] = __shfl_sync(kAllLanes, words.w[i], source, kWarp);
  std::memcpy(static_cast<void*>(&v), words.w, sizeof v);
  return v;
}

// In lane 0, in the order of the lanes.
template <class T, class Op>
TN_DEVICE T warp_fold(T v, Op op) {
  for (int k = 1; k < kWarp; k *= 2) {
    const T next = shuffle_down(v, k);
    v = op(v, next);
  }
  return v;
}

// Of lane i: that of lanes 0 to i.
template <class T, class Op>
TN_DEVICE T warp_scan(T v, Op op) {
  for (int k = 1; k < kWarp; k *= 2) {
    const T before = shuffle_up(v, k);
    if (lane() >= k) v = op(before, v);
  }
  return v;
}

}  // namespace tenon::cuda
