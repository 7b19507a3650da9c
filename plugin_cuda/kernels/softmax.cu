// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// softmax and log_softmax along a dimension, and their gradients. Contiguous rows of one dtype are
// kept in registers, by a warp or a block; longer ones are read twice, with sums that are rescaled
// when a larger element appears. Other contiguous rows have a block each. Where rows are not
// contiguous, each has a thread, so that neighbors read neighboring elements.
#include <cmath>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "plugin_cuda/device/rows.cuh"
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
  // For contiguous rows of elements S.
  template <class S>
  TN_DEVICE const S* row_of_a(int64_t row) const {
    return reinterpret_cast<const S*>(a) + row * n;
  }
  template <class S>
  TN_DEVICE const S* row_of_b(int64_t row) const {
    return reinterpret_cast<const S*>(b) + row * n;
  }
  template <class S>
  TN_DEVICE S* row_of_out(int64_t row) const {
    return reinterpret_cast<S*>(out) + row * n;
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

// As ByBlock: one thread alone.
struct ByThread {
  TN_DEVICE static int64_t row() { return global_thread(); }
  TN_DEVICE static int64_t rows_step() { return global_threads(); }
  TN_DEVICE static int thread() { return 0; }
  TN_DEVICE static int threads() { return 1; }
  template <class C, class Op>
  TN_DEVICE static C reduce(C v, C, Op) {
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
    for (int64_t i = by.thread(); i < r.n; i += by.threads()) {
      max = Max()(max, r.first<C>(start + i * r.inner));
    }
    max = by.reduce(max, lowest, Max());
    for (int64_t i = by.thread(); i < r.n; i += by.threads())
      sum += std::exp(r.first<C>(start + i * r.inner) - max);
    sum = by.reduce(sum, C(0), Add());
    const C log_sum = std::log(sum);
    for (int64_t i = by.thread(); i < r.n; i += by.threads()) {
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
    for (int64_t i = by.thread(); i < r.n; i += by.threads()) {
      const int64_t at = start + i * r.inner;
      sum += r.log ? r.first<C>(at) : r.first<C>(at) * r.second<C>(at);
    }
    sum = by.reduce(sum, C(0), Add());
    for (int64_t i = by.thread(); i < r.n; i += by.threads()) {
      const int64_t at = start + i * r.inner;
      const C g = r.first<C>(at), y = r.second<C>(at);
      r.put(at, r.log ? g - std::exp(y) * sum : y * (g - sum));
    }
  }
}

// A maximum that leaves NaN out: they come back with the sum.
struct MaxOfNumbers {
  template <class C>
  TN_DEVICE C operator()(C a, C b) const {
    return std::fmax(a, b);
  }
};

template <class Row>
__global__ void __launch_bounds__(Row::kMaxThreads, Row::kMinBlocks) forward_in_registers(Rows r) {
  using C = typename Row::Compute;
  using By = typename Row::By;
  const int n = static_cast<int>(r.n);
  for (int64_t row = By::row(); row < r.rows; row += By::rows_step()) {
    Row x;
    C max = -static_cast<C>(INFINITY), sum = 0;
    x.load(r.row_of_a<typename Row::Storage>(row), n);
    Row::for_elements(n, [&](int i) { max = MaxOfNumbers()(max, x.v[i]); });
    max = By::reduce(max, -static_cast<C>(INFINITY), MaxOfNumbers());
    Row::for_elements(n, [&](int i) {
      x.v[i] -= max;
      const C e = std::exp(x.v[i]);
      sum += e;
      if (!r.log) x.v[i] = e;
    });
    sum = By::reduce(sum, C(0), Add());
    const C log_sum = std::log(sum), scale = 1 / sum;
    Row::for_elements(n, [&](int i) { x.v[i] = r.log ? x.v[i] - log_sum : x.v[i] * scale; });
    x.store(r.row_of_out<typename Row::Storage>(row), n);
  }
}

template <class Row>
__global__ void __launch_bounds__(Row::kMaxThreads, Row::kMinBlocks) backward_in_registers(Rows r) {
  using C = typename Row::Compute;
  using By = typename Row::By;
  const int n = static_cast<int>(r.n);
  for (int64_t row = By::row(); row < r.rows; row += By::rows_step()) {
    Row g, y;
    C sum = 0;
    g.load(r.row_of_a<typename Row::Storage>(row), n);
    y.load(r.row_of_b<typename Row::Storage>(row), n);
    Row::for_elements(n, [&](int i) { sum += r.log ? g.v[i] : g.v[i] * y.v[i]; });
    sum = By::reduce(sum, C(0), Add());
    Row::for_elements(n, [&](int i) {
      g.v[i] = r.log ? g.v[i] - std::exp(y.v[i]) * sum : y.v[i] * (g.v[i] - sum);
    });
    g.store(r.row_of_out<typename Row::Storage>(row), n);
  }
}

// The largest element so far, and the sum of the exponentials of all relative to it. NaN counts in
// the sum only.
template <class C>
struct MaxAndSum {
  C max, sum;
  TN_DEVICE static MaxAndSum none() { return {-static_cast<C>(INFINITY), C(0)}; }
  // What exponentials are relative to: where all are minus infinity their sum is 0, and not NaN.
  TN_DEVICE C base() const { return max == -static_cast<C>(INFINITY) ? C(0) : max; }
  TN_DEVICE void add(const MaxAndSum& o) {
    const C before = max;
    max = std::fmax(max, o.max);
    sum = sum * std::exp(before - base()) + o.sum * std::exp(o.max - base());
  }
};
struct AddMaxAndSum {
  template <class C>
  TN_DEVICE MaxAndSum<C> operator()(MaxAndSum<C> a, const MaxAndSum<C>& b) const {
    a.add(b);
    return a;
  }
};

// For rows that registers do not hold.
template <class S>
__global__ void __launch_bounds__(kLongRowThreads) forward_in_two_passes(Rows r) {
  using C = sdk::compute_t<S>;
  using Elements = Pack<S, kPackWidth<S>>;
  for (int64_t row = blockIdx.x; row < r.rows; row += gridDim.x) {
    const S* in = r.row_of_a<S>(row);
    S* out = r.row_of_out<S>(row);
    MaxAndSum<C> all = MaxAndSum<C>::none();
    for_row(
        in, r.n,
        [&](int64_t i) {
          all.add(MaxAndSum<C>{static_cast<C>(in[i]), C(1)});
        },
        [&](int64_t i) {
          const Elements p = pack_at(in, i);
          MaxAndSum<C> some = MaxAndSum<C>::none();
          for (S v : p.v) some.max = std::fmax(some.max, static_cast<C>(v));
          for (S v : p.v) some.sum += std::exp(static_cast<C>(v) - some.base());
          all.add(some);
        });
    all = block_reduce(all, MaxAndSum<C>::none(), AddMaxAndSum());
    const C log_sum = std::log(all.sum), scale = 1 / all.sum;
    const auto result = [&](S v) {
      const C x = static_cast<C>(v) - all.max;
      return static_cast<S>(r.log ? x - log_sum : std::exp(x) * scale);
    };
    for_row(
        in, r.n, [&](int64_t i) { out[i] = result(in[i]); },
        [&](int64_t i) {
          Elements p = pack_at(in, i);
          for (S& v : p.v) v = result(v);
          pack_at(out, i) = p;
        });
  }
}

template <class S>
__global__ void __launch_bounds__(kLongRowThreads) backward_in_two_passes(Rows r) {
  using C = sdk::compute_t<S>;
  using Elements = Pack<S, kPackWidth<S>>;
  for (int64_t row = blockIdx.x; row < r.rows; row += gridDim.x) {
    const S *grad = r.row_of_a<S>(row), *result = r.row_of_b<S>(row);
    S* out = r.row_of_out<S>(row);
    C sum = 0;
    const auto add = [&](S g, S y) {
      sum += r.log ? static_cast<C>(g) : static_cast<C>(g) * static_cast<C>(y);
    };
    for_row(
        grad, r.n, [&](int64_t i) { add(grad[i], result[i]); },
        [&](int64_t i) {
          const Elements g = pack_at(grad, i), y = pack_at(result, i);
          for (int k = 0; k < kPackWidth<S>; ++k) add(g.v[k], y.v[k]);
        });
    sum = block_reduce(sum, C(0), Add());
    const auto gradient = [&](S grad, S result) {
      const C g = static_cast<C>(grad), y = static_cast<C>(result);
      return static_cast<S>(r.log ? g - std::exp(y) * sum : y * (g - sum));
    };
    for_row(
        grad, r.n, [&](int64_t i) { out[i] = gradient(grad[i], result[i]); },
        [&](int64_t i) {
          Elements g = pack_at(grad, i);
          const Elements y = pack_at(result, i);
          for (int k = 0; k < kPackWidth<S>; ++k) g.v[k] = gradient(g.v[k], y.v[k]);
          pack_at(out, i) = g;
        });
  }
}

int block_for(int64_t n) { return n >= 4096 ? 1024 : n >= 1024 ? 256 : n >= 256 ? 128 : 32; }

// Whether the kernels for contiguous rows of elements S have computed them.
template <class S, bool kForward>
bool run_dense(const Call& call, const Rows& r) {
  const bool aligned = rows_are_aligned<S>(r.n, {r.out, r.a, r.b});
  const auto in_registers = [&](auto row, const Shape& shape) {
    using Row = tn_type(row);
    if constexpr (kForward)
      launch<forward_in_registers<Row>>(call, shape, r);
    else
      launch<backward_in_registers<Row>>(call, shape, r);
  };
  constexpr int kArrays = kForward ? 1 : 2;
  if (with_row_in_registers<S, kArrays>(call, r.rows, r.n, aligned, in_registers)) return true;
  if (!same_alignment({r.out, r.a, r.b})) return false;
  const Shape blocks{std::min(r.rows, 8 * max_blocks(call)),
                     std::min(kLongRowThreads, block_for(r.n))};
  if constexpr (kForward)
    launch<forward_in_two_passes<S>>(call, blocks, r);
  else
    launch<backward_in_two_passes<S>>(call, blocks, r);
  return true;
}

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
  if (r.inner == 1 && r.out_code == r.a_code && r.b_code == r.a_code) {
    bool done = false;
    dispatch_floating(a.dtype(),
                      [&](auto tag) { done = run_dense<tn_type(tag), kForward>(call, r); });
    if (done) return TN_OK;
  }
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
