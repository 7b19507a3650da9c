// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _unique2, unique_dim and unique_consecutive: sorted (or given) positions, a flag where another
// value begins, and the running count of flags as the group of each position. Each NaN is distinct.
#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/selection.cuh"
#include "plugin_cuda/device/slices.cuh"
#include "tenon/sdk/loops.h"
#include "tenon/sdk/ops/_unique2.h"
#include "tenon/sdk/ops/unique_consecutive.h"
#include "tenon/sdk/ops/unique_dim.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct Groups {
  const char* in;
  Code code;
  int32_t item;
  const uint32_t* order;  // null: as given
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

// counts is zero before; its sums are integers, so their order does not matter.
__global__ void write_groups(Groups g) {
  for_each_counted(g, [&](int64_t i, bool first, int64_t to_here) {
    const int64_t group = to_here - 1, from = g.position(i);
    if (g.inverse != nullptr) g.inverse[from] = group;
    if (g.counts != nullptr)
      atomicAdd(reinterpret_cast<unsigned long long*>(g.counts + group), 1ull);
    if (!first) return;
    for (int k = 0; k < g.item; ++k) g.values[group * g.item + k] = g.in[from * g.item + k];
  });
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
  g.chunk = chunk_of(n);
  g.chunks = ceil_div(n, g.chunk);
  g.starts = reinterpret_cast<int64_t*>(call.workspace<char>() + call.workspace_bytes()) -
             (kMaxChunks + 1);
  int64_t size = 0;
  if (n > 0) {
    if (sorted) {
      launch<make_keys>(call, shape_for(call, n), g, memory.pairs);
      const std::size_t scratch = memory.scratch_bytes - kStartsBytes;
      sort_pairs(call, memory.pairs, key_bits(g.code), memory.scratch, scratch);
      g.order = memory.pairs.values_out;
    }
    launch<count_marks<Groups>>(call, {g.chunks, kSelectionBlock}, g);
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
  launch<write_groups>(call, {g.chunks, kSelectionBlock}, g);
  return TN_OK;
}

// The same for slices. They are marked first, as they may be long.
struct SliceGroups {
  Slices slices;
  uint32_t* order;
  char* flags;  // whether a slice differs from the one before it in the order
  Selection marked;
  uint32_t* first;  // of each group
  int64_t *inverse, *counts;
};

__global__ void number_slices(uint32_t* order, int64_t n) {
  for (int64_t i = global_thread(); i < n; i += global_threads())
    order[i] = static_cast<uint32_t>(i);
}

// Merges neighboring runs of `width` slices in order: each slice finds its position in the other
// run. Stable.
__global__ void merge_runs(Slices s, const uint32_t* from, uint32_t* to, int64_t width) {
  for (int64_t i = global_thread(); i < s.n; i += global_threads()) {
    const int64_t start = i / (2 * width) * (2 * width),
                  middle = start + width < s.n ? start + width : s.n;
    const int64_t end = middle + width < s.n ? middle + width : s.n;
    const bool left = i < middle;
    int64_t low = left ? middle : start, high = left ? end : middle;
    while (low < high) {
      const int64_t other = low + (high - low) / 2;
      if (left ? s.before(from[other], from[i]) : !s.before(from[i], from[other]))
        low = other + 1;
      else
        high = other;
    }
    to[left ? i + (low - middle) : start + (i - middle) + (low - start)] = from[i];
  }
}

// Into `order`; `other` is scratch of the same size.
void sort_slices(const Call& call, const Slices& s, uint32_t* order, uint32_t* other) {
  int passes = 0;
  while (int64_t{1} << passes < s.n) ++passes;
  if (passes % 2) std::swap(order, other);
  launch<number_slices>(call, shape_for(call, s.n), order, s.n);
  for (int64_t width = 1; width < s.n; width *= 2) {
    launch<merge_runs>(call, shape_for(call, s.n, 64), s, order, other, width);
    std::swap(order, other);
  }
}

// One block per slice.
__global__ void mark_slices(SliceGroups g) {
  for (int64_t i = blockIdx.x; i < g.slices.n; i += gridDim.x) {
    int64_t found = i == 0 ? 1 : 0;
    for (int64_t e = threadIdx.x; i > 0 && e < g.slices.elements(); e += blockDim.x) {
      found += g.slices.differ(g.order[i - 1], g.order[i], e);
    }
    found = block_reduce(found, int64_t{0}, AddCounts());
    if (threadIdx.x == 0) g.flags[i] = found != 0;
  }
}

__global__ void group_slices(SliceGroups g) {
  for_each_counted(g.marked, [&](int64_t i, bool first, int64_t to_here) {
    g.inverse[g.order[i]] = to_here - 1;
    atomicAdd(reinterpret_cast<unsigned long long*>(g.counts + to_here - 1), 1ull);
    if (first) g.first[to_here - 1] = g.order[i];
  });
}

template <class U>
__global__ void copy_slices(Slices from, const uint32_t* first, U* out, int64_t kept, int64_t all) {
  for (int64_t i = global_thread(); i < all; i += global_threads()) {
    const int64_t row = i / from.inner, group = row % kept;
    out[i] = read<U>(from.at(first[group], row / kept * from.inner + i % from.inner));
  }
}

tn_status unique_slices(Call& call, const Tensor& self, int64_t given, bool sorted) {
  if (self.ndim() == 0) return unique(call, self, false, true, true);
  const int dim = wrap_dim(given, self.ndim());
  SliceGroups g{};
  g.slices = {self.data<char>(), code_of(self.dtype()), self.size(dim), 1, 1};
  for (int d = 0; d < dim; ++d) g.slices.outer *= self.size(d);
  for (int d = dim + 1; d < self.ndim(); ++d) g.slices.inner *= self.size(d);
  const int64_t n = g.slices.n;
  if (n >= int64_t{1} << 31) return TN_DECLINED;
  auto* starts = call.workspace<int64_t>();
  g.order = reinterpret_cast<uint32_t*>(call.workspace<char>() + kStartsBytes);
  g.first = g.order + n;
  g.flags = reinterpret_cast<char*>(g.first + n);
  int64_t kept = 0;
  if (n > 0) {
    if (sorted)
      sort_slices(call, g.slices, g.order, g.first);
    else
      launch<number_slices>(call, shape_for(call, n), g.order, n);
    const int block = self.numel() / n >= 1024 ? 256 : 32;
    launch<mark_slices>(call, {std::min(n, 4 * max_blocks(call)), block}, g);
    g.marked = select(g.flags, kBool, n, starts);
    kept = count_all(call, g.marked);
  }
  int64_t sizes[kMaxDims];
  std::copy(self.sizes().begin(), self.sizes().end(), sizes);
  sizes[dim] = kept;
  const Tensor out = call.alloc_out(0, Ints(sizes, self.ndim()), self.dtype());
  g.inverse = call.alloc_out(1, Ints(&n, 1), kInt64).data<int64_t>();
  const Tensor counts = call.alloc_out(2, Ints(&kept, 1), kInt64);
  if (n == 0) return TN_OK;
  g.counts = counts.data<int64_t>();
  fill_elements(call, counts, 0);
  launch<group_slices>(call, {g.marked.chunks, kSelectionBlock}, g);
  if (out.numel() == 0) return TN_OK;
  dispatch_size(self.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    launch<copy_slices<U>>(call, shape_for(call, out.numel()), g.slices, g.first, out.data<U>(),
                           kept, out.numel());
  });
  return TN_OK;
}

tn_status unique2(Call& call, Tensor, Tensor, Tensor, Tensor self, bool, bool inverse,
                  bool counts) {
  return unique(call, self, true, inverse, counts);
}
tn_status unique_dim(Call& call, Tensor, Tensor, Tensor, Tensor self, int64_t dim, bool, bool,
                     bool) {
  return unique_slices(call, self, dim, true);
}
tn_status unique_consecutive(Call& call, Tensor, Tensor, Tensor, Tensor self, bool inverse,
                             bool counts, std::optional<int64_t> dim) {
  if (dim && !(*dim == 0 && self.ndim() == 1)) return unique_slices(call, self, *dim, false);
  return unique(call, self, false, inverse, counts);
}

tn_status workspace(tn_call* call, uint64_t* bytes) {
  const uint64_t sort = sort_workspace_bytes(Tensor(call->in[0].u.tensor).numel());
  *bytes = (sort + 7) / 8 * 8 + kStartsBytes;
  return TN_OK;
}

uint64_t slices_bytes(const Tensor& self, int64_t given) {
  const int64_t n = self.ndim() == 0 ? 0 : self.size(wrap_dim(given, self.ndim()));
  return kStartsBytes + static_cast<uint64_t>(n + 7) / 8 * 8 + static_cast<uint64_t>(n) * 8;
}
tn_status dim_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = slices_bytes(Tensor(call->in[0].u.tensor), call->in[1].u.i64);
  return TN_OK;
}
tn_status consecutive_workspace(tn_call* call, uint64_t* bytes) {
  const bool along = call->in[3].tag == TN_TAG_I64;
  *bytes = along ? slices_bytes(Tensor(call->in[0].u.tensor), call->in[3].u.i64) : kStartsBytes;
  return TN_OK;
}

}  // namespace

TN_KERNEL(_unique2, unique2, dtypes("all").dynamic().host_blocking().workspace(workspace));
TN_KERNEL(unique_dim, unique_dim, dtypes("all").dynamic().host_blocking().workspace(dim_workspace));
TN_KERNEL(unique_consecutive, unique_consecutive,
          dtypes("all").dynamic().host_blocking().workspace(consecutive_workspace));

}  // namespace tenon::cuda
