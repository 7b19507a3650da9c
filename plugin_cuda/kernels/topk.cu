// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// topk and kthvalue. Where k is few beside the row, the key of the k-th is searched for, eight bits of it in each pass
// over the row: how many elements have each digit tells which one the k-th has. What comes before the k-th is taken,
// and of its equals those that stand first, as a stable sort would; these few are sorted. Counts are of integers, so
// that no order of blocks changes a bit.
#include <algorithm>

#include "plugin_cuda/device/chunks.cuh"
#include "plugin_cuda/device/line.cuh"
#include "tenon/sdk/ops/kthvalue.h"
#include "tenon/sdk/ops/topk.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int kDigits = 256;
constexpr int kThreads = kDigits;  // thread d adds digit d up
constexpr int kWarps = kThreads / kWarp;
constexpr int kMostChunksOfRow = 1024;    // one block adds them up
constexpr int64_t kLeastRow = 1024;       // shorter ones are sorted
constexpr int64_t kLeastChunked = 65536;  // of few rows this long each is several blocks' work
constexpr int64_t kFewRows = 528;

// What is known of the k-th of a row: its leading digits, and that it is the want-th of those that have them.
struct Search {
  uint64_t key;
  uint32_t want;
};

struct Job {
  Line in;
  int64_t rows, n, k, chunk, chunks;  // chunks of each row
  bool descending;
  Search* found;    // one a row
  uint32_t* bins;   // kDigits a row; only where there are several chunks,
  uint64_t* start;  // as what is taken before each chunk: less in the upper half, equal in the lower

  TN_DEVICE uint64_t key(const char* row, int64_t i) const { return key_of(row + i * in.along, in.code, descending); }
  TN_DEVICE int64_t begin(int64_t block) const { return block % chunks * chunk; }
  TN_DEVICE int64_t end(int64_t block) const { return begin(block) + chunk < n ? begin(block) + chunk : n; }
};

struct AddWords {
  template <class T>
  TN_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

// Of the elements that `s` leaves, in a part of a row: how many have digit threadIdx.x at `shift`. Each warp counts
// for itself, as many elements may have one digit.
template <class Bins>
TN_DEVICE uint32_t count_digits(const Job& j, int64_t block, const Search& s, int shift, Bins& bins) {
  for (int i = static_cast<int>(threadIdx.x); i < kWarps * kDigits; i += kThreads) bins[i] = 0u;
  __syncthreads();
  const uint64_t known = shift >= 56 ? 0 : ~uint64_t{0} << (shift + 8);
  const char* row = j.in.at(block / j.chunks, 0);
  const int64_t end = j.end(block);
  for (int64_t i = j.begin(block) + threadIdx.x; i < end; i += kThreads) {
    const uint64_t key = j.key(row, i);
    if ((key & known) != s.key) continue;
    atomicAdd(&bins[warp_in_block() * kDigits + static_cast<int>(key >> shift & (kDigits - 1))], 1u);
  }
  __syncthreads();
  uint32_t all = 0;
  for (int w = 0; w < kWarps; ++w) all += bins[w * kDigits + static_cast<int>(threadIdx.x)];
  __syncthreads();
  return all;
}

// One more digit, from the counts of each; `told` has room for two.
template <class Told>
TN_DEVICE Search narrowed(Search s, uint32_t mine, int shift, Told& told) {
  uint32_t total;
  const uint32_t to_here = block_scan(mine, 0u, AddWords(), &total);
  if (to_here >= s.want && to_here - mine < s.want) {
    told[0] = threadIdx.x;
    told[1] = s.want - (to_here - mine);
  }
  __syncthreads();
  const uint32_t digit = told[0], want = told[1];
  __syncthreads();
  return {s.key | static_cast<uint64_t>(digit) << shift, want};
}

// A block a row, which has one chunk.
__global__ void search_rows(Job j, int bits) {
  TN_SHARED(uint32_t, bins, kWarps * kDigits);
  TN_SHARED(uint32_t, told, 2);
  for (int64_t row = blockIdx.x; row < j.rows; row += gridDim.x) {
    Search s{0, static_cast<uint32_t>(j.k)};
    for (int shift = bits - 8; shift >= 0; shift -= 8)
      s = narrowed(s, count_digits(j, row, s, shift, bins), shift, told);
    if (threadIdx.x == 0) j.found[row] = s;
  }
}

// The same in several launches, where blocks share a row: block c of row r is r * chunks + c.
__global__ void start_search(Job j) {
  for (int64_t i = global_thread(); i < j.rows * kDigits; i += global_threads()) {
    j.bins[i] = 0;
    if (i % kDigits == 0) j.found[i / kDigits] = {0, static_cast<uint32_t>(j.k)};
  }
}
__global__ void count_chunks(Job j, int shift) {
  TN_SHARED(uint32_t, bins, kWarps * kDigits);
  const int64_t row = blockIdx.x / j.chunks;
  const uint32_t mine = count_digits(j, blockIdx.x, j.found[row], shift, bins);
  if (mine != 0) atomicAdd(&j.bins[row * kDigits + threadIdx.x], mine);
}
__global__ void pick_digits(Job j, int shift) {
  TN_SHARED(uint32_t, told, 2);
  uint32_t* mine = j.bins + static_cast<int64_t>(blockIdx.x) * kDigits + threadIdx.x;
  const Search s = narrowed(j.found[blockIdx.x], *mine, shift, told);
  *mine = 0;
  if (threadIdx.x == 0) j.found[blockIdx.x] = s;
}

TN_DEVICE uint64_t rank_of(uint64_t key, const Search& s) {
  return key < s.key ? uint64_t{1} << 32 : key == s.key ? 1 : 0;
}

__global__ void count_taken(Job j) {
  const int64_t row = blockIdx.x / j.chunks, end = j.end(blockIdx.x);
  const Search s = j.found[row];
  const char* p = j.in.at(row, 0);
  uint64_t mine = 0;
  for (int64_t i = j.begin(blockIdx.x) + threadIdx.x; i < end; i += kThreads) mine += rank_of(j.key(p, i), s);
  mine = block_fold(mine, uint64_t{0}, AddWords());
  if (threadIdx.x == 0) j.start[blockIdx.x] = mine;
}
__global__ void add_up_taken(Job j) {
  uint64_t* start = j.start + blockIdx.x * j.chunks;
  const bool inside = threadIdx.x < j.chunks;
  const uint64_t mine = inside ? start[threadIdx.x] : 0;
  uint64_t total;
  const uint64_t before = block_scan_before(mine, uint64_t{0}, AddWords(), &total);
  if (inside) start[threadIdx.x] = before;
}

// take(row, position, key, place among those taken, whether it is the k-th)
template <class Take>
__global__ void take_found(Job j, Take take) {
  for (int64_t block = blockIdx.x; block < j.rows * j.chunks; block += gridDim.x) {
    const int64_t row = block / j.chunks, end = j.end(block);
    const Search s = j.found[row];
    const char* p = j.in.at(row, 0);
    uint64_t before = j.chunks > 1 ? j.start[block] : 0;
    for (int64_t tile = j.begin(block); tile < end; tile += kThreads) {
      const int64_t i = tile + threadIdx.x;
      const uint64_t key = i < end ? j.key(p, i) : ~uint64_t{0}, mine = i < end ? rank_of(key, s) : 0;
      uint64_t total;
      const uint64_t here = before + block_scan_before(mine, uint64_t{0}, AddWords(), &total);
      before += total;
      const uint32_t less = static_cast<uint32_t>(here >> 32), equal = static_cast<uint32_t>(here);
      const bool last = mine == 1 && equal + 1 == s.want;
      if (mine > 1 || (mine == 1 && equal < s.want)) {
        take(row, i, key, static_cast<int64_t>(less) + (equal < s.want ? equal : s.want), last);
      }
    }
  }
}

struct ToPairs {
  Pairs to;
  int64_t n, k;
  bool with_row;
  TN_DEVICE void operator()(int64_t row, int64_t i, uint64_t key, int64_t place, bool) const {
    to.keys[row * k + place] = with_row ? static_cast<uint64_t>(row) << 32 | key : key;
    to.values[row * k + place] = static_cast<uint32_t>(row * n + i);
  }
};
struct ToResults {
  Line in, values, indices;
  TN_DEVICE void operator()(int64_t row, int64_t i, uint64_t, int64_t, bool last) const {
    if (!last) return;
    copy_element(values.at(row, 0), in.at(row, i), in.code);
    write(indices.at(row, 0), i);
  }
};

// How a call is computed.
struct Way {
  int64_t rows = 0, n = 1, chunk = 1, chunks = 1;
  bool selects = false;
  Way(const Tensor& self, int dim, int64_t k) {
    if (self.ndim() > 0) n = self.size(dim);
    if (self.numel() == 0 || k == 0) return;
    rows = self.numel() / n;
    chunk = n;
    selects = n >= kLeastRow && k <= n / 4 && self.numel() < int64_t{1} << 31;
    if (rows >= kFewRows || n < kLeastChunked) return;
    chunk = std::max<int64_t>(ceil_div(n, kMostChunksOfRow), 4 * 1024);
    chunks = ceil_div(n, chunk);
  }
  uint64_t bytes() const {
    const uint64_t of_row =
        sizeof(Search) + (chunks > 1 ? kDigits * sizeof(uint32_t) + 8 * static_cast<uint64_t>(chunks) : 0);
    return static_cast<uint64_t>(rows) * of_row;
  }
};

// What the pairs of topk take, in front of the rest.
uint64_t pairs_bytes(const Way& way, int64_t k) { return (sort_workspace_bytes(way.rows * k) + 63) / 64 * 64; }

template <class Take>
void select(const Call& call, const Way& way, const Line& in, int64_t k, bool descending, char* memory,
            const Take& take) {
  Job j{in, way.rows, way.n, k, way.chunk, way.chunks, descending, reinterpret_cast<Search*>(memory), nullptr, nullptr};
  const int bits = key_bits(in.code);
  if (way.chunks == 1) {
    launch<search_rows>(call, exactly(std::min(way.rows, kMostBlocks), kThreads), j, bits);
  } else {
    j.start = reinterpret_cast<uint64_t*>(j.found + way.rows);
    j.bins = reinterpret_cast<uint32_t*>(j.start + way.rows * way.chunks);
    const Shape blocks = exactly(way.rows * way.chunks, kThreads), row = exactly(way.rows, kThreads);
    launch<start_search>(call, shape_for(way.rows * kDigits), j);
    for (int shift = bits - 8; shift >= 0; shift -= 8) {
      launch<count_chunks>(call, blocks, j, shift);
      launch<pick_digits>(call, row, j, shift);
    }
    launch<count_taken>(call, blocks, j);
    launch<add_up_taken>(call, exactly(way.rows, kMostChunksOfRow), j);
  }
  launch<take_found<Take>>(call, exactly(std::min(way.rows * way.chunks, 8 * kMostBlocks), kThreads), j, take);
}

tn_status topk(Call& call, Tensor values, Tensor indices, Tensor self, int64_t k, int64_t given, bool largest, bool) {
  const int dim = wrap_dim(given, self.ndim());
  const Way way(self, dim, k);
  if (!way.selects) return take_by_sort(call, values, indices, self, dim, dim, 0, k, largest);
  const SortMemory memory(call, way.rows * k);
  const Line in = line_of(self, dim);
  select(call, way, in, k, largest, call.workspace<char>() + pairs_bytes(way, k),
         ToPairs{memory.pairs, way.n, k, key_bits(in.code) == 32});
  sort_keyed(call, in.code, way.n, way.rows, memory);
  take_lines(call, in, line_of(values, dim), line_of(indices, dim), memory.pairs, way.n, k, 0, k);
  return TN_OK;
}

tn_status kthvalue(Call& call, Tensor values, Tensor indices, Tensor self, int64_t k, int64_t given, bool keepdim) {
  const int dim = wrap_dim(given, self.ndim()), along = keepdim ? dim : -1;
  const Way way(self, dim, k);
  if (!way.selects) return take_by_sort(call, values, indices, self, dim, along, k - 1, 1, false);
  const Line in = line_of(self, dim);
  select(call, way, in, k, false, call.workspace<char>(),
         ToResults{in, line_of(values, along), line_of(indices, along)});
  return TN_OK;
}

template <bool kPairs>
tn_status workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor);
  const int64_t k = call->in[1].u.i64;
  const Way way(self, wrap_dim(call->in[2].u.i64, self.ndim()), k);
  *bytes = !way.selects ? sort_workspace_bytes(self.numel()) : way.bytes() + (kPairs ? pairs_bytes(way, k) : 0);
  return TN_OK;
}

}  // namespace

TN_KERNEL(topk, topk, dtypes("number").any_strides().workspace(workspace<true>).capture_safe());
TN_KERNEL(kthvalue, kthvalue, dtypes("number").any_strides().workspace(workspace<false>).capture_safe());

}  // namespace tenon::cuda
