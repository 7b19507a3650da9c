// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _unique2 and unique_consecutive of all elements: sorted positions (or positions as they are), a flag where another
// value begins, and the running count of flags as the group of each position. Two NaN are two different values.
#include "plugin_cuda/device/chunks.cuh"
#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/order.cuh"
#include "tenon/sdk/ops/_unique2.h"
#include "tenon/sdk/ops/unique_consecutive.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int kBlock = 256;
constexpr int64_t kMostChunks = 1024;

struct Groups {
  const char* in;
  Code code;
  int32_t item;
  const uint32_t* order;  // null: as they are
  int64_t n, chunk, chunks;
  int64_t* starts;  // groups that begin before a chunk; starts[chunks] is their number
  char* values;
  int64_t *inverse, *counts;  // null: not wanted

  TN_DEVICE int64_t position(int64_t i) const { return order == nullptr ? i : order[i]; }
  TN_DEVICE int64_t marks(int64_t i) const {
    if (i == 0) return 1;
    const char *a = in + position(i - 1) * item, *b = in + position(i) * item;
    if (code == Code::I64) return read<int64_t>(a) != read<int64_t>(b);
    return load<double>(a, code) != load<double>(b, code);
  }
};

__global__ void make_keys(Groups g, Pairs to) {
  for (int64_t i = global_thread(); i < to.n; i += global_threads()) {
    to.keys[i] = key_of(g.in + i * g.item, g.code);
    to.values[i] = static_cast<uint32_t>(i);
  }
}

// counts is zero before; its sums are of integers, so that their order does not matter.
__global__ void write_groups(Groups g) {
  const int64_t begin = blockIdx.x * g.chunk, end = begin + g.chunk < g.n ? begin + g.chunk : g.n;
  int64_t before = g.starts[blockIdx.x];
  for (int64_t tile = begin; tile < end; tile += blockDim.x) {
    const int64_t i = tile + threadIdx.x;
    const int64_t mine = i < end ? g.marks(i) : 0;
    int64_t total;
    const int64_t group = before + block_scan(mine, int64_t{0}, AddCounts(), &total) - 1;
    before += total;
    if (i >= end) continue;
    const int64_t from = g.position(i);
    if (g.inverse != nullptr) g.inverse[from] = group;
    if (g.counts != nullptr) atomicAdd(reinterpret_cast<unsigned long long*>(g.counts + group), 1ull);
    if (!mine) continue;
    for (int k = 0; k < g.item; ++k) g.values[group * g.item + k] = g.in[from * g.item + k];
  }
}

tn_status unique(Call& call, const Tensor& self, bool sorted, bool inverse, bool counts) {
  const int64_t n = self.numel(), none = 0;
  if (n >= int64_t{1} << 31) return TN_DECLINED;
  const SortMemory memory(call, n);
  Groups g{};
  g.in = self.data<char>();
  g.code = code_of(self.dtype());
  g.item = static_cast<int32_t>(item_size(self.dtype()));
  g.n = n;
  g.chunk = ceil_div(std::max<int64_t>(ceil_div(n, kMostChunks), 1024), kBlock) * kBlock;
  g.chunks = ceil_div(n, g.chunk);
  g.starts = reinterpret_cast<int64_t*>(call.workspace<char>() + call.workspace_bytes()) - (kMostChunks + 1);
  int64_t size = 0;
  if (n > 0) {
    if (sorted) {
      launch<make_keys>(call, shape_for(n), g, memory.pairs);
      const std::size_t scratch = memory.scratch_bytes - (kMostChunks + 1) * sizeof(int64_t);
      sort_pairs(call, memory.pairs, key_bits(g.code), memory.scratch, scratch);
      g.order = memory.pairs.values_out;
    }
    launch<count_marks<Groups>>(call, {g.chunks, kBlock}, g);
    launch<add_up_counts<Groups>>(call, {1, 1024}, g);
    read_back(call, &size, g.starts + g.chunks, sizeof size);
  }
  g.values = call.alloc_out(0, Ints(&size, 1), self.dtype()).data<char>();
  const Tensor groups = call.alloc_out(1, inverse ? self.sizes() : Ints(&none, 1), kInt64);
  const Tensor sizes = call.alloc_out(2, Ints(counts ? &size : &none, 1), kInt64);
  if (n == 0) return TN_OK;
  if (inverse) g.inverse = groups.data<int64_t>();
  if (counts) {
    g.counts = sizes.data<int64_t>();
    fill_elements(call, sizes, 0);
  }
  launch<write_groups>(call, {g.chunks, kBlock}, g);
  return TN_OK;
}

tn_status unique2(Call& call, Tensor, Tensor, Tensor, Tensor self, bool, bool inverse, bool counts) {
  return unique(call, self, true, inverse, counts);
}
tn_status unique_consecutive(Call& call, Tensor, Tensor, Tensor, Tensor self, bool inverse, bool counts,
                             std::optional<int64_t> dim) {
  if (dim && !(*dim == 0 && self.ndim() == 1)) return TN_DECLINED;
  return unique(call, self, false, inverse, counts);
}

tn_status workspace(tn_call* call, uint64_t* bytes) {
  const uint64_t sort = sort_workspace_bytes(Tensor(call->in[0].u.tensor).numel());
  *bytes = (sort + 7) / 8 * 8 + (kMostChunks + 1) * sizeof(int64_t);
  return TN_OK;
}

}  // namespace

TN_KERNEL(_unique2, unique2, dtypes("all").dynamic().host_blocking().workspace(workspace));
TN_KERNEL(unique_consecutive, unique_consecutive, dtypes("all").dynamic().host_blocking().workspace(workspace));

}  // namespace tenon::cuda
