// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// native_layer_norm: rows of one dtype are kept in registers, by a warp or a block; others have a
// block each and are read several times. The gradients of weight and bias are column sums: of slabs
// of rows first, then of the slabs in order.
#include <cmath>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/dense.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "plugin_cuda/device/rows.cuh"
#include "tenon/sdk/ops/native_layer_norm.h"
#include "tenon/sdk/ops/native_layer_norm_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class S>
TN_DEVICE S* data(const Dense& t) {
  return reinterpret_cast<S*>(t.p);
}

struct Forward {
  Dense out, mean, rstd, input, weight, bias;
  int64_t rows, n;
  double eps;
};

// In double where float has no normal numbers, and elsewhere in C: many GPUs have few units for
// double.
template <class C>
TN_DEVICE C reciprocal_root(C variance, double eps) {
  constexpr C kNormal = static_cast<C>(1e-30);
  const C v = variance + static_cast<C>(eps);
  if (v >= kNormal) return 1 / std::sqrt(v);
  return static_cast<C>(1 / std::sqrt(static_cast<double>(variance) + eps));
}

template <class C>
__global__ void forward(Forward f) {
  for (int64_t row = blockIdx.x; row < f.rows; row += gridDim.x) {
    const int64_t start = row * f.n;
    C sum = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < f.n; i += blockDim.x) sum += f.input.get<C>(start + i);
    const C mean = block_reduce(sum, C(0), Add()) / static_cast<C>(f.n);
    for (int64_t i = threadIdx.x; i < f.n; i += blockDim.x) {
      const C d = f.input.get<C>(start + i) - mean;
      squares += d * d;
    }
    const C variance = block_reduce(squares, C(0), Add()) / static_cast<C>(f.n);
    const C rstd = reciprocal_root(variance, f.eps);
    for (int64_t i = threadIdx.x; i < f.n; i += blockDim.x) {
      const C x = (f.input.get<C>(start + i) - mean) * rstd;
      f.out.put(start + i, x * f.weight.get_or(i, C(1)) + f.bias.get_or(i, C(0)));
    }
    if (threadIdx.x == 0) {
      f.mean.put(row, mean);
      f.rstd.put(row, rstd);
    }
  }
}

template <class Row>
__global__ void __launch_bounds__(Row::kMaxThreads, Row::kMinBlocks)
    forward_in_registers(Forward f) {
  using S = typename Row::Storage;
  using C = typename Row::Compute;
  using By = typename Row::By;
  const int n = static_cast<int>(f.n);
  const S *weight = data<S>(f.weight), *bias = data<S>(f.bias);
  for (int64_t row = By::row(); row < f.rows; row += By::rows_step()) {
    Row x;
    C sum = 0, squares = 0;
    x.load(data<S>(f.input) + row * n, n);
    Row::for_elements(n, [&](int i) { sum += x.v[i]; });
    const C mean = By::reduce(sum, C(0), Add()) / static_cast<C>(n);
    Row::for_elements(n, [&](int i) {
      x.v[i] -= mean;
      squares += x.v[i] * x.v[i];
    });
    const C rstd = reciprocal_root(By::reduce(squares, C(0), Add()) / static_cast<C>(n), f.eps);
    Row::for_elements(n, [&](int i) { x.v[i] *= rstd; });
    x.combine(weight, n, [](C a, C w) { return a * w; });
    x.combine(bias, n, [](C a, C b) { return a + b; });
    x.store(data<S>(f.out) + row * n, n);
    if (Row::first() == 0) {
      f.mean.put(row, mean);
      f.rstd.put(row, rstd);
    }
  }
}

struct Backward {
  Dense grad_input, grad_weight, grad_bias, grad, input, mean, rstd, weight;
  int64_t rows, n, slabs, slab;  // slab: rows of one
};

template <class C>
__global__ void input_gradient(Backward b) {
  for (int64_t row = blockIdx.x; row < b.rows; row += gridDim.x) {
    const int64_t start = row * b.n;
    const C mean = b.mean.get<C>(row), rstd = b.rstd.get<C>(row);
    Two<C> sums{C(0), C(0)};
    for (int64_t i = threadIdx.x; i < b.n; i += blockDim.x) {
      const C g = b.grad.get<C>(start + i) * b.weight.get_or(i, C(1));
      sums.a += g;
      sums.b += g * (b.input.get<C>(start + i) - mean);
    }
    sums = block_reduce(sums, Two<C>{C(0), C(0)}, AddTwo());
    const C count = static_cast<C>(b.n), shift = sums.a / count,
            slope = sums.b * rstd * rstd / count;
    for (int64_t i = threadIdx.x; i < b.n; i += blockDim.x) {
      const C g = b.grad.get<C>(start + i) * b.weight.get_or(i, C(1));
      b.grad_input.put(start + i, rstd * (g - shift - (b.input.get<C>(start + i) - mean) * slope));
    }
  }
}

template <class Row>
__global__ void __launch_bounds__(Row::kMaxThreads, Row::kMinBlocks)
    input_gradient_in_registers(Backward b) {
  using S = typename Row::Storage;
  using C = typename Row::Compute;
  using By = typename Row::By;
  const int n = static_cast<int>(b.n);
  for (int64_t row = By::row(); row < b.rows; row += By::rows_step()) {
    Row g, x;
    g.load(data<S>(b.grad) + row * n, n);
    x.load(data<S>(b.input) + row * n, n);
    g.combine(data<S>(b.weight), n, [](C a, C w) { return a * w; });
    const C mean = b.mean.get<C>(row), rstd = b.rstd.get<C>(row), count = static_cast<C>(n);
    Two<C> sums{C(0), C(0)};
    Row::for_elements(n, [&](int i) {
      x.v[i] -= mean;
      sums.a += g.v[i];
      sums.b += g.v[i] * x.v[i];
    });
    sums = By::reduce(sums, Two<C>{C(0), C(0)}, AddTwo());
    const C shift = sums.a / count, slope = sums.b * rstd * rstd / count;
    Row::for_elements(n, [&](int i) { g.v[i] = rstd * (g.v[i] - shift - x.v[i] * slope); });
    g.store(data<S>(b.grad_input) + row * n, n);
  }
}

constexpr int kColumns = 32, kLanes = 8;  // a block of 256 threads: eight rows at a time

// parts[slab][0 or 1][column]
template <class C>
__global__ void column_sums(Backward b, C* parts) {
  TN_SHARED(C, weights, kColumns * kLanes);
  TN_SHARED(C, biases, kColumns * kLanes);
  const int x = static_cast<int>(threadIdx.x % kColumns),
            y = static_cast<int>(threadIdx.x / kColumns);
  const int64_t across = (b.n + kColumns - 1) / kColumns;
  for (int64_t t = blockIdx.x; t < across * b.slabs; t += gridDim.x) {
    const int64_t column = t % across * kColumns + x, slab = t / across;
    const int64_t end = (slab + 1) * b.slab < b.rows ? (slab + 1) * b.slab : b.rows;
    C w = 0, s = 0;
    for (int64_t row = slab * b.slab + y; row < end && column < b.n; row += kLanes) {
      const C g = b.grad.get<C>(row * b.n + column);
      w += g * (b.input.get<C>(row * b.n + column) - b.mean.get<C>(row)) * b.rstd.get<C>(row);
      s += g;
    }
    weights[threadIdx.x] = w;
    biases[threadIdx.x] = s;
    __syncthreads();
    if (y == 0 && column < b.n) {
      for (int k = 1; k < kLanes; ++k) {
        w += weights[k * kColumns + x];
        s += biases[k * kColumns + x];
      }
      parts[slab * 2 * b.n + column] = w;
      parts[(slab * 2 + 1) * b.n + column] = s;
    }
    __syncthreads();
  }
}

template <class C>
__global__ void combine_slabs(Backward b, const C* parts) {
  for (int64_t i = global_thread(); i < b.n; i += global_threads()) {
    C w = 0, s = 0;
    for (int64_t k = 0; k < b.slabs; ++k) {
      w += parts[k * 2 * b.n + i];
      s += parts[(k * 2 + 1) * b.n + i];
    }
    if (b.grad_weight.p != nullptr) b.grad_weight.put(i, w);
    if (b.grad_bias.p != nullptr) b.grad_bias.put(i, s);
  }
}

int64_t product(const Ints& shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}

int block_for(int64_t n) { return n >= 4096 ? 512 : n >= 1024 ? 256 : n >= 256 ? 128 : 32; }
Shape row_shape(const Call& call, int64_t rows, int64_t n) {
  return {std::min(rows, 8 * max_blocks(call)), block_for(n)};
}

// Whether all that are present have the dtype of the input.
bool all_are(Code code, std::initializer_list<Dense> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [code](const Dense& t) { return t.p == nullptr || t.code == code; });
}

// Whether registers hold the rows: then they have been computed.
bool forward_by_registers(const Call& call, const Forward& f, DType dtype) {
  if (f.n == 0 || !all_are(f.input.code, {f.out, f.weight, f.bias})) return false;
  return dispatch_floating(dtype, [&](auto tag) {
    using S = tn_type(tag);
    const bool aligned = rows_are_aligned<S>(f.n, {f.out.p, f.input.p, f.weight.p, f.bias.p});
    return with_row_in_registers<S, 1>(call, f.rows, f.n, aligned,
                                       [&](auto row, const Shape& shape) {
                                         launch<forward_in_registers<tn_type(row)>>(call, shape, f);
                                       });
  });
}
bool input_gradient_by_registers(const Call& call, const Backward& b, DType dtype) {
  if (!all_are(b.input.code, {b.grad_input, b.grad, b.weight})) return false;
  return dispatch_floating(dtype, [&](auto tag) {
    using S = tn_type(tag);
    const bool aligned =
        rows_are_aligned<S>(b.n, {b.grad_input.p, b.grad.p, b.input.p, b.weight.p});
    return with_row_in_registers<S, 2>(
        call, b.rows, b.n, aligned, [&](auto row, const Shape& shape) {
          launch<input_gradient_in_registers<tn_type(row)>>(call, shape, b);
        });
  });
}

int64_t slabs_of(int64_t rows, int64_t n) {
  return std::min(ceil_div(rows, 64), std::max<int64_t>(1, 1056 / ceil_div(n, kColumns)));
}

tn_status layer_norm(Call& call, Tensor out, Tensor mean, Tensor rstd, Tensor input, Ints shape,
                     OptTensor weight, OptTensor bias, double eps) {
  const Forward f{Dense(out),  Dense(mean),  Dense(rstd),    Dense(input), Dense(weight),
                  Dense(bias), mean.numel(), product(shape), eps};
  if (f.rows == 0 || forward_by_registers(call, f, input.dtype())) return TN_OK;
  if (input.dtype() == kFloat64)
    launch<forward<double>>(call, row_shape(call, f.rows, f.n), f);
  else
    launch<forward<float>>(call, row_shape(call, f.rows, f.n), f);
  return TN_OK;
}

template <class C>
void gradients(const Call& call, const Backward& b, DType dtype) {
  if (b.grad_input.p != nullptr && b.rows > 0 && b.n > 0 &&
      !input_gradient_by_registers(call, b, dtype)) {
    launch<input_gradient<C>>(call, row_shape(call, b.rows, b.n), b);
  }
  if ((b.grad_weight.p == nullptr && b.grad_bias.p == nullptr) || b.n == 0) return;
  C* parts = call.workspace<C>();
  if (b.slabs > 0) {
    const int64_t blocks = ceil_div(b.n, kColumns) * b.slabs;
    launch<column_sums<C>>(call, exactly(std::min(blocks, 8 * max_blocks(call)), kColumns * kLanes),
                           b, parts);
  }
  launch<combine_slabs<C>>(call, shape_for(call, b.n, 128), b, static_cast<const C*>(parts));
}

tn_status layer_norm_backward(Call& call, Tensor grad_input, Tensor grad_weight, Tensor grad_bias,
                              Tensor grad, Tensor input, Ints shape, Tensor mean, Tensor rstd,
                              OptTensor weight, OptTensor, Bools) {
  const int64_t rows = mean.numel(), n = product(shape), slabs = slabs_of(rows, n);
  const Backward b{Dense(grad_input),
                   Dense(grad_weight),
                   Dense(grad_bias),
                   Dense(grad),
                   Dense(input),
                   Dense(mean),
                   Dense(rstd),
                   Dense(weight),
                   rows,
                   n,
                   slabs,
                   slabs > 0 ? ceil_div(rows, slabs) : 0};
  if (input.dtype() == kFloat64)
    gradients<double>(call, b, input.dtype());
  else
    gradients<float>(call, b, input.dtype());
  return TN_OK;
}

// Parts of all slabs.
tn_status backward_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor mean(call->in[3].u.tensor);
  int64_t n = 1;
  for (uint32_t i = 0; i < call->in[2].len; ++i) n *= call->in[2].u.i64s[i];
  *bytes = static_cast<uint64_t>(slabs_of(mean.numel(), n) * n * 2) * sizeof(double);
  return TN_OK;
}

}  // namespace

TN_KERNEL(native_layer_norm, layer_norm, dtypes("floating").capture_safe());
TN_KERNEL(native_layer_norm_backward, layer_norm_backward,
          dtypes("floating").workspace(backward_workspace).capture_safe());

}  // namespace tenon::cuda
