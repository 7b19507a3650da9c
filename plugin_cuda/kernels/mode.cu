// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The most frequent element of each line; of several the smallest, and its last index. Each NaN is
// distinct, and counts only if there is nothing else.
#include "plugin_cuda/device/line.cuh"
#include "tenon/sdk/ops/mode.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct Lines {
  Line in, values, indices;
  const uint32_t* order;
  int64_t rows, n;
};

struct Later {
  TN_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a > b ? a : b; }
};

// A run of equal elements; of the longest runs the first.
struct Run {
  int64_t length, last;
};
struct Longest {
  TN_DEVICE Run operator()(const Run& a, const Run& b) const {
    if (a.length != b.length) return a.length > b.length ? a : b;
    return a.last < b.last ? a : b;
  }
};

// One block per line. A run is found at its end: it began at the latest change.
__global__ void longest_runs(Lines l) {
  for (int64_t row = blockIdx.x; row < l.rows; row += gridDim.x) {
    const uint32_t* order = l.order + row * l.n;
    const auto at = [&](int64_t i) { return l.in.at(row, order[i] - row * l.n); };
    const auto key = [&](int64_t i) { return key_of(at(i), l.in.code); };
    Run best{0, 0};
    int64_t began = 0;
    for (int64_t tile = 0; tile < l.n; tile += blockDim.x) {
      const int64_t i = tile + threadIdx.x;
      const bool inside = i < l.n;
      const uint64_t mine = inside ? key(i) : 0;
      const int64_t starts = inside && i > 0 && key(i - 1) != mine ? i : 0;
      int64_t latest;
      int64_t start = block_inclusive_scan(starts, int64_t{0}, Later(), &latest);
      start = start > began ? start : began;
      began = latest > began ? latest : began;
      if (!inside || (i + 1 < l.n && key(i + 1) == mine) || is_nan(at(i), l.in.code)) continue;
      best = Longest()(best, Run{i + 1 - start, i});
    }
    best = block_reduce(best, Run{0, 0}, Longest());
    if (threadIdx.x != 0) continue;
    const char* from = at(best.last);
    char* to = l.values.at(row, 0);
    for (int64_t b = 0; b < code_bytes(l.in.code); ++b) to[b] = from[b];
    write<int64_t>(l.indices.at(row, 0), order[best.last] - row * l.n);
  }
}

tn_status mode(Call& call, Tensor values, Tensor indices, Tensor self, int64_t given,
               bool keepdim) {
  const int64_t all = self.numel();
  if (all == 0 || values.numel() == 0) return TN_OK;
  if (all >= int64_t{1} << 31) return TN_DECLINED;
  const int dim = wrap_dim(given, self.ndim()), along = keepdim ? dim : -1;
  const SortMemory memory(call, all);
  Lines l{line_of(self, dim),      line_of(values, along), line_of(indices, along),
          memory.pairs.values_out, values.numel(),         all / values.numel()};
  sort_lines(call, l.in, l.n, memory, false);
  const int block = l.n >= 4096 ? 1024 : l.n >= 256 ? 256 : 32;
  launch<longest_runs>(call, {std::min(l.rows, 4 * max_blocks(call)), block}, l);
  return TN_OK;
}

tn_status workspace(tn_call* call, uint64_t* bytes) {
  *bytes = sort_workspace_bytes(Tensor(call->in[0].u.tensor).numel());
  return TN_OK;
}

}  // namespace

TN_KERNEL(mode, mode, dtypes("all").any_strides().workspace(workspace).capture_safe());

}  // namespace tenon::cuda
