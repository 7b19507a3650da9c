// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// histc and _histogram. Counts are integers, so their order does not matter; weights are summed per
// bin, after a sort.
#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/order.cuh"
#include "tenon/sdk/ops/_histogram.h"
#include "tenon/sdk/ops/histc.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int64_t kMaxSharedBins = 8192;  // bins whose counts a block has in shared memory
constexpr int kMaxExtremeBlocks = 1024;

struct Range {
  double low, high;
};
struct Union {
  TN_DEVICE Range operator()(const Range& a, const Range& b) const {
    return {b.low < a.low || b.low != b.low ? b.low : a.low,
            b.high > a.high || b.high != b.high ? b.high : a.high};
  }
};

struct Data {
  const char* in;
  Code code;
  int64_t n, bins;
  int64_t* counts;
  TN_DEVICE double at(int64_t i) const { return load<double>(in + i * code_bytes(code), code); }
};

// bin(v): -1 if v is in no bin.
struct Even {
  const Range* range;
  int64_t bins;
  TN_DEVICE int64_t bin(double v) const {
    const Range r = *range;
    if (!(v >= r.low && v <= r.high)) return -1;
    const int64_t b =
        static_cast<int64_t>((v - r.low) * static_cast<double>(bins) / (r.high - r.low));
    return b < bins ? b : bins - 1;
  }
};
struct Edges {
  const char* edges;
  Code code;
  int64_t bins;
  TN_DEVICE double at(int64_t i) const { return load<double>(edges + i * code_bytes(code), code); }
  TN_DEVICE int64_t bin(double v) const {
    if (!(v >= at(0) && v <= at(bins))) return -1;
    int64_t low = 0, high = bins;  // the first edge above v
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (v < at(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return low - 1;
  }
};

__global__ void find_extremes(Data d, Range* parts) {
  const double first = d.at(0);
  Range mine{first, first};
  for (int64_t i = global_thread(); i < d.n; i += global_threads()) {
    const double v = d.at(i);
    mine = Union()(mine, Range{v, v});
  }
  mine = block_reduce(mine, Range{first, first}, Union());
  if (threadIdx.x == 0) parts[blockIdx.x] = mine;
}

// One block.
__global__ void combine_extremes(Range* parts, int64_t n, Faults faults) {
  Range mine = parts[0];
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) mine = Union()(mine, parts[i]);
  mine = block_reduce(mine, mine, Union());
  if (threadIdx.x != 0) return;
  if (mine.low == mine.high) mine = {mine.low - 1, mine.high + 1};
  if (mine.low - mine.low != 0 || mine.high - mine.high != 0) faults.report(TN_ERROR_VALUE, 0, 0);
  parts[0] = mine;
}

__global__ void set_range(Range* to, Range r) { *to = r; }

template <class Find>
__global__ void count(Data d, Find find) {
  for (int64_t i = global_thread(); i < d.n; i += global_threads()) {
    const int64_t bin = find.bin(d.at(i));
    if (bin >= 0) atomicAdd(reinterpret_cast<unsigned long long*>(d.counts + bin), 1ull);
  }
}

// Each block counts in shared memory, then adds to the global counts.
template <class Find>
__global__ void count_shared(Data d, Find find) {
  auto own = dynamic_shared<unsigned>();
  for (int64_t b = threadIdx.x; b < d.bins; b += blockDim.x) own[b] = 0;
  __syncthreads();
  for (int64_t i = global_thread(); i < d.n; i += global_threads()) {
    const int64_t bin = find.bin(d.at(i));
    if (bin >= 0) atomicAdd(&own[bin], 1u);
  }
  __syncthreads();
  for (int64_t b = threadIdx.x; b < d.bins; b += blockDim.x) {
    const unsigned mine = own[b];
    if (mine != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(d.counts + b),
                static_cast<unsigned long long>(mine));
  }
}

__global__ void write_counts(Data d, char* out, Code code) {
  const int64_t item = code_bytes(code);
  for (int64_t b = global_thread(); b < d.bins; b += global_threads()) {
    store(out + b * item, code, static_cast<double>(d.counts[b]));
  }
}

template <class Find>
void count_all(const Call& call, const Data& d, const Find& find) {
  if (d.n == 0) return;
  if (d.bins <= kMaxSharedBins) {
    Shape shape = shape_for(call, d.n, 256, 16);
    shape.shared_bytes = static_cast<std::size_t>(d.bins) * sizeof(unsigned);
    launch<count_shared<Find>>(call, shape, d, find);
  } else {
    launch<count<Find>>(call, shape_for(call, d.n), d, find);
  }
}

Data data_of(const Tensor& self, int64_t bins, int64_t* counts) {
  return {self.data<char>(), code_of(self.dtype()), self.numel(), bins, counts};
}

tn_status histc(Call& call, Tensor out, Tensor self, int64_t bins, Scalar min, Scalar max) {
  auto* parts = call.workspace<Range>();
  const Data d = data_of(self, bins, reinterpret_cast<int64_t*>(parts + kMaxExtremeBlocks));
  const Range given{min.to<double>(), max.to<double>()};
  if (given.low != given.high || d.n == 0) {
    launch<set_range>(call, exactly(1, 1), parts, given);
  } else {
    Shape shape = shape_for(call, d.n, 256, 4);
    shape.grid = std::min<int64_t>(shape.grid, kMaxExtremeBlocks);
    launch<find_extremes>(call, shape, d, parts);
    launch<combine_extremes>(call, {1, 256}, parts, shape.grid, Faults(call));
  }
  fill_bytes(call, d.counts, bins * static_cast<int64_t>(sizeof(int64_t)), 0);
  count_all(call, d, Even{parts, bins});
  launch<write_counts>(call, shape_for(call, bins), d, out.data<char>(), code_of(out.dtype()));
  return TN_OK;
}

// Elements in no bin come after the last one.
template <class Find>
__global__ void bins_as_keys(Data d, Find find, Pairs p) {
  for (int64_t i = global_thread(); i < d.n; i += global_threads()) {
    const int64_t bin = find.bin(d.at(i));
    p.keys[i] = static_cast<uint64_t>(bin < 0 ? d.bins : bin);
    p.values[i] = static_cast<uint32_t>(i);
  }
}

struct AddDoubles {
  TN_DEVICE double operator()(double a, double b) const { return a + b; }
};

// One block per bin.
__global__ void sum_bins(Pairs p, const char* weight, Code code, double* out, int64_t bins) {
  const int64_t item = code_bytes(code);
  for (int64_t b = blockIdx.x; b < bins; b += gridDim.x) {
    const int64_t begin = first_of(p, static_cast<uint64_t>(b)),
                  end = first_of(p, static_cast<uint64_t>(b + 1));
    double sum = 0;
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
      sum += load<double>(weight + p.values_out[i] * item, code);
    }
    sum = block_reduce(sum, 0.0, AddDoubles());
    if (threadIdx.x == 0) out[b] = sum;
  }
}

tn_status histogram(Call& call, Tensor out, Tensor self, Tensor edges, OptTensor weight) {
  const int64_t bins = out.numel(), n = self.numel();
  if (bins == 0) return TN_OK;
  const Edges find{edges.data<char>(), code_of(edges.dtype()), bins};
  if (!weight.defined() || n == 0) {
    const Data d = data_of(self, bins, call.workspace<int64_t>());
    fill_bytes(call, d.counts, bins * static_cast<int64_t>(sizeof(int64_t)), 0);
    count_all(call, d, find);
    launch<write_counts>(call, shape_for(call, bins), d, out.data<char>(), Code::F64);
    return TN_OK;
  }
  if (n >= int64_t{1} << 31) return TN_DECLINED;
  const SortMemory memory(call, n);
  launch<bins_as_keys<Edges>>(call, shape_for(call, n), data_of(self, bins, nullptr), find,
                              memory.pairs);
  sort_pairs(call, memory.pairs, bits_for(bins + 1), memory.scratch, memory.scratch_bytes);
  const int block = n / bins >= 16384 ? 1024 : n / bins >= 512 ? 256 : 32;
  launch<sum_bins>(call, {std::min(bins, 4 * max_blocks(call)), block}, memory.pairs,
                   weight.data<char>(), code_of(weight.dtype()), out.data<double>(), bins);
  return TN_OK;
}

tn_status histc_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = kMaxExtremeBlocks * sizeof(Range) +
           static_cast<uint64_t>(call->in[1].u.i64) * sizeof(int64_t);
  return TN_OK;
}
tn_status histogram_workspace(tn_call* call, uint64_t* bytes) {
  const int64_t n = Tensor(call->in[0].u.tensor).numel(),
                edges = Tensor(call->in[1].u.tensor).numel();
  const bool weighted = call->in[2].tag == TN_TAG_TENSOR && n > 0;
  *bytes = weighted ? sort_workspace_bytes(n) : static_cast<uint64_t>(edges) * sizeof(int64_t);
  return TN_OK;
}

}  // namespace

TN_KERNEL(histc, histc, dtypes("floating").workspace(histc_workspace).capture_safe());
TN_KERNEL(_histogram, histogram, dtypes("floating").workspace(histogram_workspace).capture_safe());

}  // namespace tenon::cuda
