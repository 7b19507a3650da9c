// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// softmax and log_softmax along a dimension, and their gradients: one block per row if rows are
// contiguous, else one thread per row, so that neighbors read neighboring elements.
#include <cmath>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/ops/_log_softmax.h"
#include "tenon/sdk/ops/_log_softmax_backward_data.h"
#include "tenon/sdk/ops/_softmax.h"
#include "tenon/sdk/ops/_softmax_backward_data.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Rows of n elements, `inner` apart; row-major tensors.
struct Rows {
  char* out;
  const char *a, *b;
  Code out_code, a_code, b_code;
  int64_t rows, n, inner;
  bool log;

  TN_DEVICE int64_t start(int64_t row) const { return row / inner * inner * n + row % inner; }
  template <class C>
  TN_DEVICE C first(int64_t i) const {
    return load<C>(a + i * code_bytes(a_code), a_code);
  }
  template <class C>
  TN_DEVICE C second(int64_t i) const {
    return load<C>(b + i * code_bytes(b_code), b_code);
  }
  template <class C>
  TN_DEVICE void put(int64_t i, C v) const {
    store(out + i * code_bytes(out_code), out_code, v);
  }
};

struct Add {
  template <class C>
  TN_DEVICE C operator()(C a, C b) const {
    return a + b;
  }
};
struct Max {
  template <class C>
  TN_DEVICE C operator()(C a, C b) const {
    return a > b || a != a ? a : b;
  }
};

// How the threads of one row cooperate: as a block, or one thread alone.
struct ByBlock {
  TN_DEVICE int64_t row() const { return blockIdx.x; }
  TN_DEVICE int64_t rows_step() const { return gridDim.x; }
  TN_DEVICE int64_t begin() const { return threadIdx.x; }
  TN_DEVICE int64_t step() const { return blockDim.x; }
  template <class C, class Op>
  TN_DEVICE C reduce(C v, C none, Op op) const {
    return block_reduce(v, none, op);
  }
};
struct ByThread {
  TN_DEVICE int64_t row() const { return global_thread(); }
  TN_DEVICE int64_t rows_step() const { return global_threads(); }
  TN_DEVICE int64_t begin() const { return 0; }
  TN_DEVICE int64_t step() const { return 1; }
  template <class C, class Op>
  TN_DEVICE C reduce(C v, C, Op) const {
    return v;
  }
};

template <class C, class By>
__global__ void forward(Rows r) {
  const By by;
  const C lowest = -static_cast<C>(INFINITY);
  for (int64_t row = by.row(); row < r.rows; row += by.rows_step()) {
    const int64_t start = r.start(row);
    C max = lowest, sum = 0;
    for (int64_t i = by.begin(); i < r.n; i += by.step()) {
      max = Max()(max, r.first<C>(start + i * r.inner));
    }
    max = by.reduce(max, lowest, Max());
    for (int64_t i = by.begin(); i < r.n; i += by.step())
      sum += std::exp(r.first<C>(start + i * r.inner) - max);
    sum = by.reduce(sum, C(0), Add());
    const C log_sum = std::log(sum);
    for (int64_t i = by.begin(); i < r.n; i += by.step()) {
      const int64_t at = start + i * r.inner;
      const C x = r.first<C>(at) - max;
      r.put(at, r.log ? x - log_sum : std::exp(x) / sum);
    }
  }
}

// a: the gradient, b: the result.
template <class C, class By>
__global__ void backward(Rows r) {
  const By by;
  for (int64_t row = by.row(); row < r.rows; row += by.rows_step()) {
    const int64_t start = r.start(row);
    C sum = 0;
    for (int64_t i = by.begin(); i < r.n; i += by.step()) {
      const int64_t at = start + i * r.inner;
      sum += r.log ? r.first<C>(at) : r.first<C>(at) * r.second<C>(at);
    }
    sum = by.reduce(sum, C(0), Add());
    for (int64_t i = by.begin(); i < r.n; i += by.step()) {
      const int64_t at = start + i * r.inner;
      const C g = r.first<C>(at), y = r.second<C>(at);
      r.put(at, r.log ? g - std::exp(y) * sum : y * (g - sum));
    }
  }
}

int block_for(int64_t n) { return n >= 4096 ? 1024 : n >= 1024 ? 256 : n >= 256 ? 128 : 32; }

template <bool kForward>
tn_status run(const Call& call, const Tensor& out, const Tensor& a, const Tensor& b, int64_t given,
              bool log) {
  if (out.numel() == 0) return TN_OK;
  Rows r{out.data<char>(),
         a.data<char>(),
         b.data<char>(),
         code_of(out.dtype()),
         code_of(a.dtype()),
         code_of(b.dtype()),
         1,
         1,
         1,
         log};
  const int dim = wrap_dim(given, a.ndim());
  if (a.ndim() > 0) r.n = a.size(dim);
  for (int d = dim + 1; d < a.ndim(); ++d) r.inner *= a.size(d);
  r.rows = a.numel() / r.n;
  const Shape blocks{std::min(r.rows, 8 * max_blocks(call)), block_for(r.n)},
      threads = shape_for(call, r.rows, 64);
  const bool dense = r.inner == 1 && r.n >= 16;
  with_compute(a.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    if constexpr (std::is_floating_point_v<C>) {
      if constexpr (kForward)
        dense ? launch<forward<C, ByBlock>>(call, blocks, r)
              : launch<forward<C, ByThread>>(call, threads, r);
      else
        dense ? launch<backward<C, ByBlock>>(call, blocks, r)
              : launch<backward<C, ByThread>>(call, threads, r);
    }
  });
  return TN_OK;
}

template <bool kLog>
tn_status softmax(Call& call, Tensor out, Tensor self, int64_t dim, bool) {
  return run<true>(call, out, self, self, dim, kLog);
}
template <bool kLog>
tn_status gradient(Call& call, Tensor out, Tensor grad, Tensor result, int64_t dim, DType) {
  return run<false>(call, out, grad, result, dim, kLog);
}

}  // namespace

TN_KERNEL(_softmax, softmax<false>, dtypes("floating").inplace("0=0").capture_safe());
TN_KERNEL(_log_softmax, softmax<true>, dtypes("floating").inplace("0=0").capture_safe());
TN_KERNEL(_softmax_backward_data, gradient<false>, dtypes("floating").capture_safe());
TN_KERNEL(_log_softmax_backward_data, gradient<true>, dtypes("floating").capture_safe());

}  // namespace tenon::cuda
