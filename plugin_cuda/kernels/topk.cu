// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// topk and kthvalue by radix select if k is small: each pass over the row counts the elements per
// digit and finds eight bits of the k-th key. Elements before the k-th are selected, and the first
// of those equal to it, as by a stable sort; topk sorts them. Counts are integers, so results do
// not depend on the order of blocks.
#include <algorithm>

#include "plugin_cuda/device/chunks.cuh"
#include "plugin_cuda/device/line.cuh"
#include "tenon/sdk/ops/kthvalue.h"
#include "tenon/sdk/ops/topk.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int kDigits = 256;
constexpr int kThreads = kDigits;  // thread d sums digit d
constexpr int kWarps = kThreads / kWarp;
constexpr int kMaxChunksPerRow = 1024;  // one block scans them
constexpr int64_t kMinRow = 1024;       // shorter ones are sorted
constexpr int64_t kMinChunked = 65536;  // few rows this long have several blocks each
constexpr int64_t kManyRows = 528;

// The k-th element of a row: its leading digits, and its rank among the elements that have them.
struct Search {
  uint64_t key;
  uint32_t rank;
};

struct Job {
  Line in;
  int64_t rows, n, k, chunk, chunks;  // chunks of each row
  bool descending;
  Search* found;    // one per row
  uint32_t* bins;   // kDigits per row; only with several chunks,
  uint64_t* start;  // as are counts before each chunk: less in the upper half, equal in the lower

  TN_DEVICE uint64_t key(const char* row, int64_t i) const {
    return key_of(row + i * in.along, in.code, descending);
  }
  TN_DEVICE int64_t begin(int64_t block) const { return block % chunks * chunk; }
  TN_DEVICE int64_t end(int64_t block) const {
    return begin(block) + chunk < n ? begin(block) + chunk : n;
  }
};

struct AddWords {
  template <class T>
  TN_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

// Counts elements of a chunk that match `s` and have digit threadIdx.x at `shift`. Each warp has
// its own counts, as many elements may share a digit.
template <class Bins>
TN_DEVICE uint32_t count_digits(const Job& j, int64_t block, const Search& s, int shift,
                                Bins& bins) {
  for (int i = static_cast<int>(threadIdx.x); i < kWarps * kDigits; i += kThreads) bins[i] = 0u;
  __syncthreads();
  const uint64_t known = shift >= 56 ? 0 : ~uint64_t{0} << (shift + 8);
  const char* row = j.in.at(block / j.chunks, 0);
  const int64_t end = j.end(block);
  for (int64_t i = j.begin(block) + threadIdx.x; i < end; i += kThreads) {
    const uint64_t key = j.key(row, i);
    if ((key & known) != s.key) continue;
    atomicAdd(&bins[warp_in_block() * kDigits + static_cast<int>(key >> shift & (kDigits - 1))],
              1u);
  }
  __syncthreads();
  uint32_t all = 0;
  for (int w = 0; w < kWarps; ++w) all += bins[w * kDigits + static_cast<int>(threadIdx.x)];
  __syncthreads();
  return all;
}

// Finds one more digit from the counts; `shared` has two elements.
template <class SharedPair>
TN_DEVICE Search add_digit(Search s, uint32_t mine, int shift, SharedPair& shared) {
  uint32_t total;
  const uint32_t to_here = block_inclusive_scan(mine, 0u, AddWords(), &total);
  if (to_here >= s.rank && to_here - mine < s.rank) {
    shared[0] = threadIdx.x;
    shared[1] = s.rank - (to_here - mine);
  }
  __syncthreads();
  const uint32_t digit = shared[0], rank = shared[1];
  __syncthreads();
  return {s.key | static_cast<uint64_t>(digit) << shift, rank};
}

// One block per row of one chunk.
__global__ void search_rows(Job j, int bits) {
  TN_SHARED(uint32_t, bins, kWarps * kDigits);
  TN_SHARED(uint32_t, shared, 2);
  for (int64_t row = blockIdx.x; row < j.rows; row += gridDim.x) {
    Search s{0, static_cast<uint32_t>(j.k)};
    for (int shift = bits - 8; shift >= 0; shift -= 8)
      s = add_digit(s, count_digits(j, row, s, shift, bins), shift, shared);
    if (threadIdx.x == 0) j.found[row] = s;
  }
}

// The same in several launches, for rows of several blocks: block c of row r is r * chunks + c.
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
__global__ void select_digits(Job j, int shift) {
  TN_SHARED(uint32_t, shared, 2);
  uint32_t* mine = j.bins + static_cast<int64_t>(blockIdx.x) * kDigits + threadIdx.x;
  const Search s = add_digit(j.found[blockIdx.x], *mine, shift, shared);
  *mine = 0;
  if (threadIdx.x == 0) j.found[blockIdx.x] = s;
}

TN_DEVICE uint64_t rank_of(uint64_t key, const Search& s) {
  return key < s.key ? uint64_t{1} << 32 : key == s.key ? 1 : 0;
}

__global__ void count_selected(Job j) {
  const int64_t row = blockIdx.x / j.chunks, end = j.end(blockIdx.x);
  const Search s = j.found[row];
  const char* p = j.in.at(row, 0);
  uint64_t mine = 0;
  for (int64_t i = j.begin(blockIdx.x) + threadIdx.x; i < end; i += kThreads)
    mine += rank_of(j.key(p, i), s);
  mine = block_reduce(mine, uint64_t{0}, AddWords());
  if (threadIdx.x == 0) j.start[blockIdx.x] = mine;
}
__global__ void scan_selected(Job j) {
  uint64_t* start = j.start + blockIdx.x * j.chunks;
  const bool inside = threadIdx.x < j.chunks;
  const uint64_t mine = inside ? start[threadIdx.x] : 0;
  uint64_t total;
  const uint64_t before = block_exclusive_scan(mine, uint64_t{0}, AddWords(), &total);
  if (inside) start[threadIdx.x] = before;
}

// write(row, position, key, position among the selected, whether it is the k-th)
template <class Write>
__global__ void write_selected(Job j, Write write) {
  for (int64_t block = blockIdx.x; block < j.rows * j.chunks; block += gridDim.x) {
    const int64_t row = block / j.chunks, end = j.end(block);
    const Search s = j.found[row];
    const char* p = j.in.at(row, 0);
    uint64_t before = j.chunks > 1 ? j.start[block] : 0;
    for (int64_t tile = j.begin(block); tile < end; tile += kThreads) {
      const int64_t i = tile + threadIdx.x;
      const uint64_t key = i < end ? j.key(p, i) : ~uint64_t{0},
                     mine = i < end ? rank_of(key, s) : 0;
      uint64_t total;
      const uint64_t here = before + block_exclusive_scan(mine, uint64_t{0}, AddWords(), &total);
      before += total;
      const uint32_t less = static_cast<uint32_t>(here >> 32), equal = static_cast<uint32_t>(here);
      const bool last = mine == 1 && equal + 1 == s.rank;
      if (mine > 1 || (mine == 1 && equal < s.rank)) {
        write(row, i, key, static_cast<int64_t>(less) + (equal < s.rank ? equal : s.rank), last);
      }
    }
  }
}

struct ToPairs {
  Pairs to;
  int64_t n, k;
  bool with_row;
  TN_DEVICE void operator()(int64_t row, int64_t i, uint64_t key, int64_t to_position, bool) const {
    to.keys[row * k + to_position] = with_row ? static_cast<uint64_t>(row) << 32 | key : key;
    to.values[row * k + to_position] = static_cast<uint32_t>(row * n + i);
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
struct Plan {
  int64_t rows = 0, n = 1, chunk = 1, chunks = 1;
  bool selects = false;
  Plan(const Tensor& self, int dim, int64_t k) {
    if (self.ndim() > 0) n = self.size(dim);
    if (self.numel() == 0 || k == 0) return;
    rows = self.numel() / n;
    chunk = n;
    selects = n >= kMinRow && k <= n / 4 && self.numel() < int64_t{1} << 31;
    if (rows >= kManyRows || n < kMinChunked) return;
    chunk = std::max<int64_t>(ceil_div(n, kMaxChunksPerRow), 4 * 1024);
    chunks = ceil_div(n, chunk);
  }
  uint64_t bytes() const {
    const uint64_t of_row =
        sizeof(Search) +
        (chunks > 1 ? kDigits * sizeof(uint32_t) + 8 * static_cast<uint64_t>(chunks) : 0);
    return static_cast<uint64_t>(rows) * of_row;
  }
};

// Workspace of topk's pairs, which precedes the rest.
uint64_t pairs_bytes(const Plan& plan, int64_t k) {
  return (sort_workspace_bytes(plan.rows * k) + 63) / 64 * 64;
}

template <class Write>
void select(const Call& call, const Plan& plan, const Line& in, int64_t k, bool descending,
            char* memory, const Write& write) {
  Job j{in,         plan.rows,   plan.n,     k,
        plan.chunk, plan.chunks, descending, reinterpret_cast<Search*>(memory),
        nullptr,    nullptr};
  const int bits = key_bits(in.code);
  if (plan.chunks == 1) {
    launch<search_rows>(call, exactly(std::min(plan.rows, max_blocks(call)), kThreads), j, bits);
  } else {
    j.start = reinterpret_cast<uint64_t*>(j.found + plan.rows);
    j.bins = reinterpret_cast<uint32_t*>(j.start + plan.rows * plan.chunks);
    const Shape blocks = exactly(plan.rows * plan.chunks, kThreads),
                row = exactly(plan.rows, kThreads);
    launch<start_search>(call, shape_for(call, plan.rows * kDigits), j);
    for (int shift = bits - 8; shift >= 0; shift -= 8) {
      launch<count_chunks>(call, blocks, j, shift);
      launch<select_digits>(call, row, j, shift);
    }
    launch<count_selected>(call, blocks, j);
    launch<scan_selected>(call, exactly(plan.rows, kMaxChunksPerRow), j);
  }
  launch<write_selected<Write>>(
      call, exactly(std::min(plan.rows * plan.chunks, 8 * max_blocks(call)), kThreads), j, write);
}

tn_status topk(Call& call, Tensor values, Tensor indices, Tensor self, int64_t k, int64_t given,
               bool largest, bool) {
  const int dim = wrap_dim(given, self.ndim());
  const Plan plan(self, dim, k);
  if (!plan.selects) return select_by_sort(call, values, indices, self, dim, dim, 0, k, largest);
  const SortMemory memory(call, plan.rows * k);
  const Line in = line_of(self, dim);
  select(call, plan, in, k, largest, call.workspace<char>() + pairs_bytes(plan, k),
         ToPairs{memory.pairs, plan.n, k, key_bits(in.code) == 32});
  sort_keyed(call, in.code, plan.n, plan.rows, memory);
  gather_lines(call, in, line_of(values, dim), line_of(indices, dim), memory.pairs, plan.n, k, 0,
               k);
  return TN_OK;
}

tn_status kthvalue(Call& call, Tensor values, Tensor indices, Tensor self, int64_t k, int64_t given,
                   bool keepdim) {
  const int dim = wrap_dim(given, self.ndim()), along = keepdim ? dim : -1;
  const Plan plan(self, dim, k);
  if (!plan.selects)
    return select_by_sort(call, values, indices, self, dim, along, k - 1, 1, false);
  const Line in = line_of(self, dim);
  select(call, plan, in, k, false, call.workspace<char>(),
         ToResults{in, line_of(values, along), line_of(indices, along)});
  return TN_OK;
}

template <bool kPairs>
tn_status workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor);
  const int64_t k = call->in[1].u.i64;
  const Plan plan(self, wrap_dim(call->in[2].u.i64, self.ndim()), k);
  *bytes = !plan.selects ? sort_workspace_bytes(self.numel())
                         : plan.bytes() + (kPairs ? pairs_bytes(plan, k) : 0);
  return TN_OK;
}

}  // namespace

TN_KERNEL(topk, topk, dtypes("number").any_strides().workspace(workspace<true>).capture_safe());
TN_KERNEL(kthvalue, kthvalue,
          dtypes("number").any_strides().workspace(workspace<false>).capture_safe());

}  // namespace tenon::cuda
