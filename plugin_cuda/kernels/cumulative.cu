// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cumsum, cumprod, logcumsumexp, cummax and cummin: a block goes along a dense row tile by tile, a thread along any
// other. Floats accumulate in double.
#include <cmath>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/ops/cummax.h"
#include "tenon/sdk/ops/cummin.h"
#include "tenon/sdk/ops/cumprod.h"
#include "tenon/sdk/ops/cumsum.h"
#include "tenon/sdk/ops/logcumsumexp.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct Rows {
  char* out;
  char* indices;  // of cummax and cummin
  const char* in;
  Code out_code, in_code;
  int64_t rows, n, inner;
  TN_DEVICE int64_t start(int64_t row) const { return row / inner * inner * n + row % inner; }
};

// Value: C. make(element, position), op(earlier, later), none(), store.
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
  TN_DEVICE C none() const { return C(0); }
  TN_DEVICE C operator()(C a, C b) const { return a + b; }
};
template <class C>
struct Product : Plain<C> {
  TN_DEVICE C none() const { return C(1); }
  TN_DEVICE C operator()(C a, C b) const { return a * b; }
};
template <class C>
struct LogSumExp : Plain<C> {
  TN_DEVICE C none() const { return -static_cast<C>(INFINITY); }
  TN_DEVICE C operator()(C a, C b) const {
    const bool swap = b > a || b != b;
    const C high = swap ? b : a, low = swap ? a : b;
    if (high == low && high - low != C(0)) return high;  // two infinities
    return high + std::log1p(std::exp(low - high));
  }
};

template <class C>
struct Found {
  C value;
  int64_t index;  // -1: nothing yet
};
// Of equal elements the last one counts; NaN wins.
template <class C, bool kMax>
struct Extremum {
  using Value = Found<C>;
  TN_DEVICE Value make(C v, int64_t i) const { return {v, i}; }
  TN_DEVICE Value none() const { return {C(0), -1}; }
  TN_DEVICE Value operator()(const Value& a, const Value& b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    if (b.value != b.value) return b;
    if (a.value != a.value) return a;
    return (kMax ? b.value >= a.value : b.value <= a.value) ? b : a;
  }
  TN_DEVICE void put(const Rows& r, int64_t at, const Value& v) const {
    store(r.out + at * code_bytes(r.out_code), r.out_code, v.value);
    write(r.indices + at * 8, v.index);
  }
};

template <class C, class Op>
__global__ void by_blocks(Rows r, Op op) {
  using Value = typename Op::Value;
  const int64_t item = code_bytes(r.in_code);
  for (int64_t row = blockIdx.x; row < r.rows; row += gridDim.x) {
    Value before = op.none();
    for (int64_t tile = 0; tile < r.n; tile += blockDim.x) {
      const int64_t i = tile + threadIdx.x, at = row * r.n + i;
      Value v = op.none(), total;
      if (i < r.n) v = op.make(load<C>(r.in + at * item, r.in_code), i);
      v = block_scan(v, op.none(), op, &total);
      if (i < r.n) op.put(r, at, op(before, v));
      before = op(before, total);
    }
  }
}

template <class C, class Op>
__global__ void by_threads(Rows r, Op op) {
  const int64_t item = code_bytes(r.in_code);
  for (int64_t row = global_thread(); row < r.rows; row += global_threads()) {
    typename Op::Value v = op.none();
    for (int64_t i = 0; i < r.n; ++i) {
      const int64_t at = r.start(row) + i * r.inner;
      v = op(v, op.make(load<C>(r.in + at * item, r.in_code), i));
      op.put(r, at, v);
    }
  }
}

template <class C, class Op>
void run_as(const Call& call, const Rows& r) {
  if (r.inner == 1 && r.n >= 32) {
    const int block = r.n >= 4096 ? 1024 : r.n >= 512 ? 256 : 64;
    launch<by_blocks<C, Op>>(call, {std::min(r.rows, 4 * kMostBlocks), block}, r, Op{});
  } else {
    launch<by_threads<C, Op>>(call, shape_for(r.rows, 64), r, Op{});
  }
}

template <template <class> class Op, bool kFloating = false>
tn_status scan(const Call& call, const Tensor& out, const Tensor& indices, const Tensor& self, int64_t given) {
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
using Most = Extremum<C, true>;
template <class C>
using Least = Extremum<C, false>;

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
  return scan<Most>(call, values, indices, self, dim);
}
tn_status cummin(Call& call, Tensor values, Tensor indices, Tensor self, int64_t dim) {
  return scan<Least>(call, values, indices, self, dim);
}

}  // namespace

TN_KERNEL(cumsum, cumsum, dtypes("all").capture_safe());
TN_KERNEL(cumprod, cumprod, dtypes("all").capture_safe());
TN_KERNEL(logcumsumexp, logcumsumexp, dtypes("floating").capture_safe());
TN_KERNEL(cummax, cummax, dtypes("all").capture_safe());
TN_KERNEL(cummin, cummin, dtypes("all").capture_safe());

}  // namespace tenon::cuda
