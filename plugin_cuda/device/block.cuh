// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions and scans of a block's values, for blocks of 32 to 1024 threads in whole warps. All
// threads call them; they end with a barrier, so that the next call may follow directly. Results
// depend on the block size alone.
#pragma once

#include "plugin_cuda/device/warp.cuh"

namespace tenon::cuda {

TN_DEVICE int warps_of_block() { return static_cast<int>(blockDim.x / kWarp); }

// In every thread. `identity` is the neutral value of op.
template <class T, class Op>
TN_DEVICE T block_reduce(T v, T identity, Op op) {
  TN_SHARED(T, parts, kWarp);
  v = warp_reduce(v, op);
  if (lane() == 0) parts[warp_in_block()] = v;
  __syncthreads();
  // Every warp reduces the parts, which is one barrier less than one warp for all.
  T all = identity;
  if (lane() < warps_of_block()) all = parts[lane()];
  all = shuffle_from(warp_reduce(all, op), 0);
  __syncthreads();
  return all;
}

// In thread i: of threads 0 to i; `total` is that of all.
template <class T, class Op>
TN_DEVICE T block_inclusive_scan(T v, T identity, Op op, T* total) {
  TN_SHARED(T, parts, kWarp);
  v = warp_inclusive_scan(v, op);
  if (lane() == kWarp - 1) parts[warp_in_block()] = v;
  __syncthreads();
  if (warp_in_block() == 0) {
    T mine = identity;
    if (lane() < warps_of_block()) mine = parts[lane()];
    mine = warp_inclusive_scan(mine, op);
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

// In thread i: of threads 0 to i - 1, `identity` for the first; `total` is that of all.
template <class T, class Op>
TN_DEVICE T block_exclusive_scan(T v, T identity, Op op, T* total) {
  TN_SHARED(T, parts, kWarp);
  v = warp_inclusive_scan(v, op);
  if (lane() == kWarp - 1) parts[warp_in_block()] = v;
  T before = shuffle_up(v, 1);
  if (lane() == 0) before = identity;
  __syncthreads();
  T warps = identity, all = identity;
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
