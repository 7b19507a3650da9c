// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// sort and prim_argsort along a dimension, and the topk and kthvalue where topk.cu does not select:
// one sort of all elements by {row, key}. 64-bit keys are sorted first, then, as sorts are stable,
// the rows.
#include "plugin_cuda/device/line.cuh"
#include "tenon/sdk/ops/prim_argsort.h"
#include "tenon/sdk/ops/sort.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

__global__ void make_keys(Line in, Pairs to, int64_t n, bool descending, bool with_row) {
  for (int64_t i = global_thread(); i < to.n; i += global_threads()) {
    const int64_t row = i / n;
    const uint64_t key = key_of(in.at(row, i % n), in.code, descending);
    to.keys[i] = with_row ? static_cast<uint64_t>(row) << 32 | key : key;
    to.values[i] = static_cast<uint32_t>(i);
  }
}

__global__ void rows_as_keys(Pairs p, int64_t n) {
  for (int64_t i = global_thread(); i < p.n; i += global_threads()) {
    p.values[i] = p.values_out[i];
    p.keys[i] = p.values_out[i] / static_cast<uint64_t>(n);
  }
}

// k pairs of each row from `first` on, of `width` pairs per row; values.p may be null.
__global__ void gather_sorted(Line in, Line values, Line indices, Pairs p, int64_t n, int64_t width,
                              int64_t first, int64_t k) {
  for (int64_t i = global_thread(); i < p.n / width * k; i += global_threads()) {
    const int64_t row = i / k, from = p.values_out[row * width + first + i % k] - row * n;
    if (values.p != nullptr) copy_element(values.at(row, i % k), in.at(row, from), in.code);
    write(indices.at(row, i % k), from);
  }
}

}  // namespace

void sort_keyed(const Call& call, Code code, int64_t n, int64_t rows, const SortMemory& memory) {
  const int row_bits = bits_for(rows);
  if (key_bits(code) == 32) {
    sort_pairs(call, memory.pairs, 32 + row_bits, memory.scratch, memory.scratch_bytes);
    return;
  }
  sort_pairs(call, memory.pairs, 64, memory.scratch, memory.scratch_bytes);
  if (row_bits > 0) {
    launch<rows_as_keys>(call, shape_for(call, memory.pairs.n), memory.pairs, n);
    sort_pairs(call, memory.pairs, row_bits, memory.scratch, memory.scratch_bytes);
  }
}

void sort_lines(const Call& call, const Line& in, int64_t n, const SortMemory& memory,
                bool descending) {
  const int64_t all = memory.pairs.n;
  launch<make_keys>(call, shape_for(call, all), in, memory.pairs, n, descending,
                    key_bits(in.code) == 32);
  sort_keyed(call, in.code, n, all / n, memory);
}

void gather_lines(const Call& call, const Line& in, const Line& values, const Line& indices,
                  const Pairs& pairs, int64_t n, int64_t width, int64_t first, int64_t k) {
  launch<gather_sorted>(call, shape_for(call, pairs.n / width * k), in, values, indices, pairs, n,
                        width, first, k);
}

tn_status select_by_sort(const Call& call, const Tensor& values, const Tensor& indices,
                         const Tensor& self, int dim, int along, int64_t first, int64_t k,
                         bool descending) {
  const int64_t n = self.ndim() ? self.size(dim) : 1, all = self.numel();
  if (all == 0 || k == 0) return TN_OK;
  if (all >= int64_t{1} << 31) return TN_DECLINED;
  const SortMemory memory(call, all);
  const Line in = line_of(self, dim);
  sort_lines(call, in, n, memory, descending);
  gather_lines(call, in, values.defined() ? line_of(values, along) : Line{},
               line_of(indices, along), memory.pairs, n, n, first, k);
  return TN_OK;
}

namespace {

tn_status sort(Call& call, Tensor values, Tensor indices, Tensor self, std::optional<bool>,
               int64_t given, bool descending) {
  const int dim = wrap_dim(given, self.ndim());
  return select_by_sort(call, values, indices, self, dim, dim, 0, self.ndim() ? self.size(dim) : 1,
                        descending);
}
tn_status prim_argsort(Call& call, Tensor out, Tensor self, bool descending) {
  const int dim = self.ndim() - 1;
  return select_by_sort(call, Tensor(), out, self, dim, dim, 0, self.ndim() ? self.size(dim) : 1,
                        descending);
}

tn_status self_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = sort_workspace_bytes(Tensor(call->in[0].u.tensor).numel());
  return TN_OK;
}

}  // namespace

TN_KERNEL(sort_stable, sort, dtypes("all").any_strides().workspace(self_workspace).capture_safe());
TN_KERNEL(prim_argsort, prim_argsort,
          dtypes("all").any_strides().workspace(self_workspace).capture_safe());

}  // namespace tenon::cuda
