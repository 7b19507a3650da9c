// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// coalesce: sorts elements by linear index, counts the distinct ones and sums duplicates.
#include "plugin_cuda/device/selection.cuh"
#include "plugin_sparse_cuda/device/places.cuh"
#include "tenon/sdk/ops/_coalesce.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Marks elements at which another linear index begins, for count_marks().
struct Heads {
  Sorted elements;
  int64_t n, chunk, chunks;
  int64_t* starts;

  TN_DEVICE int64_t marks(int64_t i) const {
    return i == 0 || elements.indices[i - 1] != elements.indices[i] ? 1 : 0;
  }
};

// Indices of the distinct linear indices, [dims, starts[chunks]], and the row of each.
__global__ void write_heads(Heads h, Places p, int64_t* indices, uint32_t* rows) {
  const int64_t begin = blockIdx.x * h.chunk, end = begin + h.chunk < h.n ? begin + h.chunk : h.n;
  const int64_t all = h.starts[h.chunks];
  int64_t before = h.starts[blockIdx.x];
  for (int64_t tile = begin; tile < end; tile += blockDim.x) {
    const int64_t i = tile + threadIdx.x;
    const int64_t mine = i < end ? h.marks(i) : 0;
    int64_t total;
    const int64_t row = before + block_inclusive_scan(mine, int64_t{0}, AddCounts(), &total) - 1;
    before += total;
    if (!mine) continue;
    rows[i] = static_cast<uint32_t>(row);
    p.write(h.elements.indices[i], indices, row, all);
  }
}

tn_status coalesce(Call& call, Tensor, Tensor self) {
  const Tensor at = coo::indices(self), values = coo::values(self);
  const Places places(call, at, self.sizes());
  const int64_t n = places.n;
  if (n > kMaxSorted) return TN_DECLINED;
  const Pairs pairs = sort_places(call, places, kStartsBytes);
  Heads heads{sorted(pairs), n, chunk_of(n), ceil_div(n, chunk_of(n)), nullptr};
  heads.starts =
      reinterpret_cast<int64_t*>(call.workspace<char>() + call.workspace_bytes() - kStartsBytes);
  int64_t sizes[kMaxDims] = {places.dims, 0};
  if (n > 0) {
    launch<count_marks<Heads>>(call, {heads.chunks, kSelectionBlock}, heads);
    launch<add_up_counts<Heads>>(call, {1, 1024}, heads);
    read_back(call, &sizes[1], heads.starts + heads.chunks, sizeof(int64_t));
  }
  const Tensor indices = alloc_component(call, 0, coo::kIndices, Ints(sizes, 2), kInt64);
  sizes[0] = sizes[1];
  std::copy(values.sizes().begin() + 1, values.sizes().end(), sizes + 1);
  const Tensor sums =
      alloc_component(call, 0, coo::kValues, Ints(sizes, values.ndim()), values.dtype());
  set_layout_flags(call, 0, coo::kCoalesced);
  if (n == 0) return TN_OK;
  launch<write_heads>(call, {heads.chunks, kSelectionBlock}, heads, places, indices.data<int64_t>(),
                      pairs.values);
  sum_duplicates(call, heads.elements,
                 {Dense(values), Dense(sums), sums.numel() / sizes[0], pairs.values, false},
                 Scalar::of(int64_t{1}));
  return TN_OK;
}

tn_status workspace(tn_call* call, uint64_t* bytes) {
  const int64_t n = coo::nnz(Tensor(call->in[0].u.tensor));
  if (n > kMaxSorted) return TN_DECLINED;
  *bytes = sorting_bytes(n) + kStartsBytes;
  return TN_OK;
}

}  // namespace

TN_KERNEL(_coalesce, coalesce, layouts("sparse_coo").host_blocking().workspace(workspace));

}  // namespace tenon::cuda
