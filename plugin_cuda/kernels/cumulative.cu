// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cumsum, cumprod, logcumsumexp, cummax, cummin and prim_scan: one block scans a contiguous row
// tile by tile, one thread any other. Few long contiguous rows are cut into parts: blocks reduce
// them, their totals are scanned, and blocks scan from there. Floats accumulate in double.
#include <algorithm>
#include <cmath>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/found.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/abi/primitives.h"
#include "tenon/sdk/ops/cummax.h"
#include "tenon/sdk/ops/cummin.h"
#include "tenon/sdk/ops/cumprod.h"
#include "tenon/sdk/ops/cumsum.h"
#include "tenon/sdk/ops/logcumsumexp.h"
#include "tenon/sdk/ops/prim_scan.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct Rows {
  char* out;
  char* indices;  // of cummax and cummin, else null
  const char* in;
  Code out_code, in_code;
  int64_t rows, n, inner;
  TN_DEVICE int64_t start(int64_t row) const { return row / inner * inner * n + row % inner; }
};

// Value: C. make(element, position), op(earlier, later), identity(), put.
template <class C>
struct Plain {
  using Value = C;
  TN_DEVICE C make(C v, int64_t) const { return v; }
  TN_DEVICE void put(const Rows& r, int64_t at, C v) const {
    store(r.out + at * code_bytes(r.out_code), r.out_code, v);
  }
};
template <class C>
struct Sum : Plain<C> {
  TN_DEVICE C identity() const { return C(0); }
  TN_DEVICE C operator()(C a, C b) const { return a + b; }
};
template <class C>
struct Product : Plain<C> {
  TN_DEVICE C identity() const { return C(1); }
  TN_DEVICE C operator()(C a, C b) const { return a * b; }
};
template <class C>
struct LogSumExp : Plain<C> {
  TN_DEVICE C identity() const { return -static_cast<C>(INFINITY); }
  TN_DEVICE C operator()(C a, C b) const {
    const bool swap = b > a || b != b;
    const C high = swap ? b : a, low = swap ? a : b;
    if (high == low && high - low != C(0)) return high;  // two infinities
    return high + std::log1p(std::exp(low - high));
  }
};

// The last of equal elements; NaN wins.
template <class C, bool kMax>
struct Extremum {
  using Value = Found<C>;
  TN_DEVICE Value make(C v, int64_t i) const { return {v, i}; }
  TN_DEVICE Value identity() const { return {C(0), -1}; }
  TN_DEVICE Value operator()(const Value& a, const Value& b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    if (b.value != b.value) return b;
    if (a.value != a.value) return a;
    return (kMax ? b.value >= a.value : b.value <= a.value) ? b : a;
  }
  TN_DEVICE void put(const Rows& r, int64_t at, const Value& v) const {
    store(r.out + at * code_bytes(r.out_code), r.out_code, v.value);
    if (r.indices != nullptr) write(r.indices + at * 8, v.index);
  }
};

constexpr int kEach = 4;             // consecutive elements per thread
constexpr int64_t kMaxParts = 1024;  // of a row
constexpr int64_t kMaxPartsOfAll = 2048;

// An inclusive scan of one thread's elements.
template <class C, class Op>
TN_DEVICE void own_elements(const Rows& r, Op op, int64_t row, int64_t first, int64_t end,
                            typename Op::Value (&own)[kEach]) {
  const int64_t item = code_bytes(r.in_code);
  for (int j = 0; j < kEach; ++j) {
    const int64_t i = first + j;
    own[j] =
        i < end ? op.make(load<C>(r.in + (row * r.n + i) * item, r.in_code), i) : op.identity();
    if (j > 0) own[j] = op(own[j - 1], own[j]);
  }
}

// Elements [begin, end) of a row, after `before`, which the elements in front reduce to.
template <class C, class Op>
TN_DEVICE void scan_part(const Rows& r, Op op, int64_t row, int64_t begin, int64_t end,
                         typename Op::Value before) {
  using Value = typename Op::Value;
  for (int64_t tile = begin; tile < end; tile += blockDim.x * kEach) {
    const int64_t first = tile + threadIdx.x * kEach;
    Value own[kEach], total;
    own_elements<C>(r, op, row, first, end, own);
    Value here = block_exclusive_scan(own[kEach - 1], op.identity(), op, &total);
    here = op(before, here);
    for (int j = 0; j < kEach; ++j) {
      if (first + j < end) op.put(r, row * r.n + first + j, op(here, own[j]));
    }
    before = op(before, total);
  }
}

template <class C, class Op>
__global__ void by_blocks(Rows r, Op op) {
  for (int64_t row = blockIdx.x; row < r.rows; row += gridDim.x)
    scan_part<C>(r, op, row, 0, r.n, op.identity());
}

// One block per part.
template <class C, class Op>
__global__ void reduce_parts(Rows r, Op op, typename Op::Value* totals, int64_t parts,
                             int64_t part) {
  using Value = typename Op::Value;
  const int64_t row = blockIdx.x / parts, begin = blockIdx.x % parts * part;
  const int64_t end = begin + part < r.n ? begin + part : r.n;
  Value all = op.identity();
  for (int64_t tile = begin; tile < end; tile += blockDim.x * kEach) {
    Value own[kEach];
    own_elements<C>(r, op, row, tile + threadIdx.x * kEach, end, own);
    all = op(all, block_reduce(own[kEach - 1], op.identity(), op));
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = all;
}

// One block per row, with a thread for each of its parts.
template <class Op>
__global__ void scan_totals(Op op, typename Op::Value* totals, int64_t parts) {
  using Value = typename Op::Value;
  const bool inside = static_cast<int64_t>(threadIdx.x) < parts;
  Value* mine = totals + blockIdx.x * parts + threadIdx.x;
  Value v = op.identity(), total;
  if (inside) v = *mine;
  v = block_exclusive_scan(v, op.identity(), op, &total);
  if (inside) *mine = v;
}

template <class C, class Op>
__global__ void scan_parts(Rows r, Op op, const typename Op::Value* totals, int64_t parts,
                           int64_t part) {
  const int64_t begin = blockIdx.x % parts * part, end = begin + part < r.n ? begin + part : r.n;
  scan_part<C>(r, op, blockIdx.x / parts, begin, end, totals[blockIdx.x]);
}

int64_t parts_of(int64_t rows, int64_t n) {
  if (rows > kMaxPartsOfAll / 8 || n < 16384) return 1;
  return std::min({kMaxParts, kMaxPartsOfAll / rows, n / 4096});
}

template <class C, class Op>
__global__ void by_threads(Rows r, Op op) {
  const int64_t item = code_bytes(r.in_code);
  for (int64_t row = global_thread(); row < r.rows; row += global_threads()) {
    typename Op::Value v = op.identity();
    for (int64_t i = 0; i < r.n; ++i) {
      const int64_t at = r.start(row) + i * r.inner;
      v = op(v, op.make(load<C>(r.in + at * item, r.in_code), i));
      op.put(r, at, v);
    }
  }
}

template <class C, class Op>
void run_as(const Call& call, const Rows& r) {
  int64_t parts = r.inner == 1 ? parts_of(r.rows, r.n) : 1;
  if (parts > 1) {
    auto* totals = call.workspace<typename Op::Value>();
    const int64_t part = ceil_div(r.n, parts);
    parts = ceil_div(r.n, part);
    launch<reduce_parts<C, Op>>(call, {r.rows * parts, 256}, r, Op{}, totals, parts, part);
    launch<scan_totals<Op>>(call, exactly(r.rows, static_cast<int>(ceil_div(parts, kWarp)) * kWarp),
                            Op{}, totals, parts);
    launch<scan_parts<C, Op>>(call, {r.rows * parts, 256}, r, Op{}, totals, parts, part);
  } else if (r.inner == 1 && r.n >= 32) {
    const int block = r.n >= 8192 ? 1024 : r.n >= 1024 ? 256 : 64;
    launch<by_blocks<C, Op>>(call, {std::min(r.rows, 4 * max_blocks(call)), block}, r, Op{});
  } else {
    launch<by_threads<C, Op>>(call, shape_for(call, r.rows, 64), r, Op{});
  }
}

template <template <class> class Op, bool kFloating = false>
tn_status scan(const Call& call, const Tensor& out, const Tensor& indices, const Tensor& self,
               int64_t given) {
  if (self.numel() == 0) return TN_OK;
  Rows r{out.data<char>(),
         indices.defined() ? indices.data<char>() : nullptr,
         self.data<char>(),
         code_of(out.dtype()),
         code_of(self.dtype()),
         1,
         1,
         1};
  const int dim = wrap_dim(given, self.ndim());
  if (self.ndim() > 0) r.n = self.size(dim);
  for (int d = dim + 1; d < self.ndim(); ++d) r.inner *= self.size(d);
  r.rows = self.numel() / r.n;
  if constexpr (!kFloating) {
    if (!is_floating(self.dtype())) {
      run_as<int64_t, Op<int64_t>>(call, r);
      return TN_OK;
    }
  }
  run_as<double, Op<double>>(call, r);
  return TN_OK;
}

template <class C>
using Max = Extremum<C, true>;
template <class C>
using Min = Extremum<C, false>;

tn_status cumsum(Call& call, Tensor out, Tensor self, int64_t dim, std::optional<DType>) {
  return scan<Sum>(call, out, Tensor(), self, dim);
}
tn_status cumprod(Call& call, Tensor out, Tensor self, int64_t dim, std::optional<DType>) {
  return scan<Product>(call, out, Tensor(), self, dim);
}
tn_status logcumsumexp(Call& call, Tensor out, Tensor self, int64_t dim) {
  return scan<LogSumExp, true>(call, out, Tensor(), self, dim);
}
tn_status cummax(Call& call, Tensor values, Tensor indices, Tensor self, int64_t dim) {
  return scan<Max>(call, values, indices, self, dim);
}
tn_status cummin(Call& call, Tensor values, Tensor indices, Tensor self, int64_t dim) {
  return scan<Min>(call, values, indices, self, dim);
}
tn_status prim_scan(Call& call, Tensor out, Tensor self, int64_t dim, int64_t code) {
  switch (code) {
    case TN_REDUCE_SUM:
      return scan<Sum>(call, out, Tensor(), self, dim);
    case TN_REDUCE_PROD:
      return scan<Product>(call, out, Tensor(), self, dim);
    case TN_REDUCE_MAX:
      return scan<Max>(call, out, Tensor(), self, dim);
    case TN_REDUCE_MIN:
      return scan<Min>(call, out, Tensor(), self, dim);
    default:
      return TN_DECLINED;
  }
}

tn_status totals_workspace(tn_call* call, uint64_t* bytes) {
  *bytes =
      Tensor(call->in[0].u.tensor).numel() < 16384 ? 0 : kMaxPartsOfAll * sizeof(Found<double>);
  return TN_OK;
}

}  // namespace

TN_KERNEL(cumsum, cumsum, dtypes("all").workspace(totals_workspace).capture_safe());
TN_KERNEL(cumprod, cumprod, dtypes("all").workspace(totals_workspace).capture_safe());
TN_KERNEL(logcumsumexp, logcumsumexp,
          dtypes("floating").workspace(totals_workspace).capture_safe());
TN_KERNEL(cummax, cummax, dtypes("all").workspace(totals_workspace).capture_safe());
TN_KERNEL(cummin, cummin, dtypes("all").workspace(totals_workspace).capture_safe());
TN_KERNEL(prim_scan, prim_scan, dtypes("all").workspace(totals_workspace).capture_safe());

}  // namespace tenon::cuda
