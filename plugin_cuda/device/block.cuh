// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Folds and scans of a block's values, for blocks of 32 to 1024 threads in whole warps. All threads call them; they end
// with a barrier, so that the next call may follow at once. The result depends on the size of the block, never on time.
#pragma once

#include "plugin_cuda/device/warp.cuh"

namespace tenon::cuda {

TN_DEVICE int warps_of_block() { return static_cast<int>(blockDim.x / kWarp); }

// In every thread. `none` is op's neutral value.
template <class T, class Op>
TN_DEVICE T block_fold(T v, T none, Op op) {
  TN_SHARED(T, parts, kWarp);
  v = warp_fold(v, op);
  if (lane() == 0) parts[warp_in_block()] = v;
  __syncthreads();
  if (warp_in_block() == 0) {
    T mine = none;
    if (lane() < warps_of_block()) mine = parts[lane()];
    mine = warp_fold(mine, op);
    __syncwarp(kAllLanes);
    if (lane() == 0) parts[0] = mine;
  }
  __syncthreads();
  const T all = parts[0];
  __syncthreads();
  return all;
}

// Of thread i: that of threads 0 to i; `total` is the last one's.
template <class T, class Op>
TN_DEVICE T block_scan(T v, T none, Op op, T* total) {
  TN_SHARED(T, parts, kWarp);
  v = warp_scan(v, op);
  if (lane() == kWarp - 1) parts[warp_in_block()] = v;
  __syncthreads();
  if (warp_in_block() == 0) {
    T mine = none;
    if (lane() < warps_of_block()) mine = parts[lane()];
    mine = warp_scan(mine, op);
    __syncwarp(kAllLanes);
    if (lane() < warps_of_block()) parts[lane()] = mine;
  }
  __syncthreads();
  if (warp_in_block() > 0) {
    const T before = parts[warp_in_block() - 1];
    v = op(before, v);
  }
  const T last = parts[warps_of_block() - 1];
  *total = last;
  __syncthreads();
  return v;
}

// Of thread i: that of threads 0 to i - 1, none() for the first; `total` is that of all.
template <class T, class Op>
TN_DEVICE T block_scan_before(T v, T none, Op op, T* total) {
  TN_SHARED(T, parts, kWarp);
  v = warp_scan(v, op);
  if (lane() == kWarp - 1) parts[warp_in_block()] = v;
  T before = shuffle_up(v, 1);
  if (lane() == 0) before = none;
  __syncthreads();
  T warps = none, all = none;
  for (int w = 0; w < warps_of_block(); ++w) {
    const T part = parts[w];
    if (w == warp_in_block()) warps = all;
    all = op(all, part);
  }
  *total = all;
  __syncthreads();
  return op(warps, before);
}

}  // namespace tenon::cuda
