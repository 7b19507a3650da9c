// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// searchsorted, and repeat_interleave of counts: each element of the result is found by binary
// search.
#include "plugin_cuda/device/chunks.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/order.cuh"
#include "tenon/sdk/ops/repeat_interleave.h"
#include "tenon/sdk/ops/searchsorted.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int kBlock = 256;
constexpr int64_t kMaxChunks = 1024;

struct Search {
  char* out;
  const char *rows, *in;
  const int64_t* sorter;  // null: rows are sorted
  Code out_code, code;
  int64_t n, length, each;  // elements that share a row
  bool right;
  Faults faults;

  TN_DEVICE int64_t find(int64_t i) const {
    const int64_t item = code_bytes(code), start = i / each * length;
    const uint64_t key = key_of(in + i * item, code);
    int64_t low = 0, high = length;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const int64_t at =
          sorter == nullptr ? middle : faults.checked(sorter[start + middle], length);
      const uint64_t other = key_of(rows + (start + at) * item, code);
      if (right ? !(key < other) : other < key)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

__global__ void search_all(Search s) {
  const int64_t item = code_bytes(s.out_code);
  for (int64_t i = global_thread(); i < s.n; i += global_threads())
    store(s.out + i * item, s.out_code, s.find(i));
}
// The search itself does not read all of them.
__global__ void check_sorter(const int64_t* sorter, int64_t n, int64_t length, Faults faults) {
  for (int64_t i = global_thread(); i < n; i += global_threads()) faults.checked(sorter[i], length);
}

tn_status searchsorted(Call& call, Tensor out, Tensor rows, Tensor self, bool, bool right,
                       std::optional<Str> side, OptTensor sorter) {
  if (sorter.defined() && sorter.numel() > 0) {
    launch<check_sorter>(call, shape_for(call, sorter.numel()), sorter.data<int64_t>(),
                         sorter.numel(), rows.size(-1), Faults(call));
  }
  Search s{};
  s.n = self.numel();
  if (s.n == 0) return TN_OK;
  s.out = out.data<char>();
  s.rows = rows.data<char>();
  s.in = self.data<char>();
  s.sorter = sorter.defined() ? sorter.data<int64_t>() : nullptr;
  s.out_code = code_of(out.dtype());
  s.code = code_of(rows.dtype());
  s.length = rows.size(-1);
  s.each = rows.ndim() == 1 ? s.n : self.size(-1);
  s.right = right || (side && *side == "right");
  s.faults = Faults(call);
  launch<search_all>(call, shape_for(call, s.n), s);
  return TN_OK;
}

struct Repeats {
  const char* counts;
  Code code;
  int64_t n, chunk, chunks;
  int64_t* starts;  // of chunks; starts[chunks] is the total, or a negative count
  int64_t* ends;    // of elements
  Faults faults;
  TN_DEVICE int64_t count(int64_t i) const {
    return load<int64_t>(counts + i * code_bytes(code), code);
  }
  TN_DEVICE int64_t marks(int64_t i) const {
    const int64_t n = count(i);
    return n > 0 ? n : 0;
  }
};

__global__ void write_ends(Repeats r) {
  const int64_t begin = blockIdx.x * r.chunk, end = begin + r.chunk < r.n ? begin + r.chunk : r.n;
  int64_t before = r.starts[blockIdx.x];
  for (int64_t tile = begin; tile < end; tile += blockDim.x) {
    const int64_t i = tile + threadIdx.x;
    int64_t total;
    const int64_t to_here =
        block_inclusive_scan(i < end ? r.marks(i) : int64_t{0}, int64_t{0}, AddCounts(), &total);
    if (i < end) {
      r.ends[i] = before + to_here;
      if (r.count(i) < 0) {
        atomicMin(reinterpret_cast<long long*>(r.starts + r.chunks),
                  static_cast<long long>(r.count(i)));
      }
    }
    before += total;
  }
}

// Element i is the index of the first of `ends` above i. The caller's output_size may be wrong.
__global__ void write_repeats(Repeats r, char* out, int64_t size) {
  const int64_t total = r.starts[r.chunks], item = code_bytes(r.code);
  if (global_thread() == 0 && total != size) {
    r.faults.report(TN_ERROR_VALUE, total < 0 ? total : size, total < 0 ? INT64_MAX : total + 1);
  }
  for (int64_t i = global_thread(); i < size; i += global_threads()) {
    int64_t low = 0, high = r.n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (r.ends[middle] <= i)
        low = middle + 1;
      else
        high = middle;
    }
    store(out + i * item, r.code, low);
  }
}

tn_status repeat_interleave(Call& call, Tensor, Tensor repeats,
                            std::optional<int64_t> output_size) {
  Repeats r{};
  r.n = repeats.numel();
  r.counts = repeats.data<char>();
  r.code = code_of(repeats.dtype());
  r.chunk = ceil_div(std::max<int64_t>(ceil_div(r.n, kMaxChunks), 1024), kBlock) * kBlock;
  r.chunks = ceil_div(r.n, r.chunk);
  r.starts = call.workspace<int64_t>();
  r.ends = r.starts + kMaxChunks + 1;
  r.faults = Faults(call);
  int64_t size = 0;
  if (r.n > 0) {
    launch<count_marks<Repeats>>(call, {r.chunks, kBlock}, r);
    launch<add_up_counts<Repeats>>(call, {1, 1024}, r);
    launch<write_ends>(call, {r.chunks, kBlock}, r);
    if (!output_size) read_back(call, &size, r.starts + r.chunks, sizeof size);
    if (size < 0) throw Error(TN_ERROR_VALUE, "count ", size, " is negative");
  } else if (output_size && *output_size != 0) {
    throw Error(TN_ERROR_VALUE, "output_size is ", *output_size, " but the counts sum up to 0");
  }
  if (output_size) size = *output_size;
  char* out = call.alloc_out(0, Ints(&size, 1), repeats.dtype()).data<char>();
  if (r.n > 0) launch<write_repeats>(call, shape_for(call, size), r, out, size);
  return TN_OK;
}

tn_status ends_workspace(tn_call* call, uint64_t* bytes) {
  const int64_t n = Tensor(call->in[0].u.tensor).numel();
  *bytes = static_cast<uint64_t>(kMaxChunks + 1 + n) * sizeof(int64_t);
  return TN_OK;
}

}  // namespace

TN_KERNEL(searchsorted_Tensor, searchsorted, dtypes("number").mixed_dtypes().capture_safe());
TN_KERNEL(repeat_interleave_Tensor, repeat_interleave,
          dtypes("integral").dynamic().host_blocking().workspace(ends_workspace));

}  // namespace tenon::cuda
