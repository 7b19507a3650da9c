// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Counts marked elements before each chunk. S has n elements in `chunks` chunks of `chunk` each,
// marks(i), and room for chunks + 1 counts at `starts`; the last is the total.
#pragma once

#include "plugin_cuda/device/block.cuh"

namespace tenon::cuda {

struct AddCounts {
  TN_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a + b; }
};

// One block per chunk.
template <class S>
__global__ void count_marks(S s) {
  const int64_t begin = blockIdx.x * s.chunk, end = begin + s.chunk < s.n ? begin + s.chunk : s.n;
  int64_t mine = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) mine += s.marks(i);
  mine = block_reduce(mine, int64_t{0}, AddCounts());
  if (threadIdx.x == 0) s.starts[blockIdx.x] = mine;
}

// One block per chunk, after add_up_counts(): f(i, whether it is marked, marked elements up to and
// including i).
template <class S, class F>
TN_DEVICE void for_each_counted(const S& s, const F& f) {
  const int64_t begin = blockIdx.x * s.chunk, end = begin + s.chunk < s.n ? begin + s.chunk : s.n;
  int64_t before = s.starts[blockIdx.x];
  for (int64_t tile = begin; tile < end; tile += blockDim.x) {
    const int64_t i = tile + threadIdx.x;
    const int64_t mine = i < end ? s.marks(i) : 0;
    int64_t total;
    const int64_t to_here = before + block_inclusive_scan(mine, int64_t{0}, AddCounts(), &total);
    before += total;
    if (i < end) f(i, mine != 0, to_here);
  }
}

// An exclusive scan by one block.
template <class S>
__global__ void add_up_counts(S s) {
  int64_t before = 0;
  for (int64_t tile = 0; tile < s.chunks; tile += blockDim.x) {
    const int64_t i = tile + threadIdx.x;
    const int64_t mine = i < s.chunks ? s.starts[i] : 0;
    int64_t total;
    const int64_t to_here = block_inclusive_scan(mine, int64_t{0}, AddCounts(), &total);
    if (i < s.chunks) s.starts[i] = before + to_here - mine;
    before += total;
  }
  if (threadIdx.x == 0) s.starts[s.chunks] = before;
}

}  // namespace tenon::cuda
