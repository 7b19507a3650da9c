// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Maxima of windows or cells, their indices, and the gradient. The last NaN wins; among equal
// elements the first does.
#include <limits>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/dense.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/found.cuh"
#include "plugin_cuda/device/pool.cuh"
#include "tenon/sdk/ops/adaptive_max_pool2d.h"
#include "tenon/sdk/ops/adaptive_max_pool2d_backward.h"
#include "tenon/sdk/ops/adaptive_max_pool3d.h"
#include "tenon/sdk/ops/adaptive_max_pool3d_backward.h"
#include "tenon/sdk/ops/max_pool2d_with_indices.h"
#include "tenon/sdk/ops/max_pool2d_with_indices_backward.h"
#include "tenon/sdk/ops/max_pool3d_with_indices.h"
#include "tenon/sdk/ops/max_pool3d_with_indices_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class E>
struct Max {
  using C = typename E::C;
  using Acc = Found<C, int32_t>;  // in the plane
  E elements;
  Volume out, indices;
  C lowest;  // of a window that has only padding
  TN_DEVICE Acc identity() const { return {lowest, -1}; }
  TN_DEVICE Acc reduce(const Acc& best, C v, int32_t at) const {
    const bool wins = best.index < 0 || v > best.value || v != v;
    return wins ? Acc{v, at} : best;
  }
  TN_DEVICE Acc combine(const Acc& a, const Acc& b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan && a.value != b.value) return a.value > b.value ? a : b;
    return (a.index < b.index) != a_nan ? a : b;
  }
  TN_DEVICE void put(const Pool&, const Place& o, const Acc& best) const {
    elements.put(out.element(o), best.value);
    write<int64_t>(indices.element(o), best.index < 0 ? 0 : best.index);
  }
};

struct Backward {
  Pool pool;
  Volume grad, indices, grad_input;
  Extents inputs;
  int64_t outputs;
  unsigned long long* matched;  // outputs whose index is in their window
  Faults faults;
};

// Each element sums the gradients of the windows over it whose index names it.
template <class E>
__global__ void gather(Backward b, E elements) {
  using C = typename E::C;
  int64_t matched = 0;
  for (int64_t i = global_thread(); i < b.inputs.numel; i += global_threads()) {
    const Place x = b.inputs.place(i);
    const char *grads = b.grad.plane(x), *chosen = b.indices.plane(x);
    const int64_t here = b.pool.position(x.at[2], x.at[3], x.at[4]);
    const Range r0 = b.pool.over(0, x.at[2]), r1 = b.pool.over(1, x.at[3]),
                r2 = b.pool.over(2, x.at[4]);
    C sum = 0;
    for (int32_t d = r0.first; d < r0.last; ++d) {
      for (int32_t h = r1.first; h < r1.last; ++h) {
        const int64_t grad_line = d * b.grad.stride[2] + h * b.grad.stride[3];
        const int64_t index_line = d * b.indices.stride[2] + h * b.indices.stride[3];
        for (int32_t w = r2.first; w < r2.last; ++w) {
          if (read<int64_t>(chosen + index_line + w * b.indices.stride[4]) != here) continue;
          sum += elements.get(grads + grad_line + w * b.grad.stride[4]);
          ++matched;
        }
      }
    }
    elements.put(b.grad_input.element(x), sum);
  }
  matched = block_reduce(matched, int64_t{0}, Add());
  if (threadIdx.x == 0) atomicAdd(b.matched, static_cast<unsigned long long>(matched));
}

constexpr int kTile = 1024;  // sums of a block of gather_strays

// Indices may name elements outside of their window: a caller's, and those of windows with padding
// alone, which name the first element. Then tiles of planes are recomputed from all outputs of the
// plane, in order.
template <class E>
__global__ void gather_strays(Backward b, E elements) {
  using C = typename E::C;
  if (*b.matched == static_cast<unsigned long long>(b.outputs)) return;
  TN_SHARED(C, sums, kTile);
  const PoolAxis* axis = b.pool.axis;
  const int64_t plane = int64_t{axis[0].in} * axis[1].in * axis[2].in;
  const int64_t out_plane = int64_t{axis[0].out} * axis[1].out * axis[2].out;
  const int64_t tiles = (plane + kTile - 1) / kTile;
  const int step = static_cast<int>(blockDim.x), mine = static_cast<int>(threadIdx.x);
  for (int64_t t = blockIdx.x; t < b.inputs.numel / plane * tiles; t += gridDim.x) {
    const int64_t start = t % tiles * kTile;
    Place o = b.inputs.place(t / tiles * plane);
    for (int k = mine; k < kTile; k += step) sums[k] = C(0);
    for (int64_t i = 0; i < out_plane; ++i) {
      o.at[4] = static_cast<int32_t>(i % axis[2].out);
      o.at[3] = static_cast<int32_t>(i / axis[2].out % axis[1].out);
      o.at[2] = static_cast<int32_t>(i / axis[2].out / axis[1].out);
      const int64_t at = read<int64_t>(b.indices.element(o));
      if (at < 0 || at >= plane) b.faults.report(TN_ERROR_INDEX, at, plane);
      if (at < start || at >= start + kTile || at >= plane || (at - start) % step != mine) continue;
      const C before = sums[at - start];
      sums[at - start] = before + elements.get(b.grad.element(o));
    }
    for (int k = mine; k < kTile && start + k < plane; k += step) {
      const C sum = sums[k];
      elements.put(b.grad_input.element(b.inputs.place(t / tiles * plane + start + k)), sum);
    }
  }
}

// The lowest value of a dtype.
template <class C>
C lowest_of(DType d) {
  if (is_floating(d)) return -std::numeric_limits<C>::infinity();
  return d == kUInt8 ? C(0) : static_cast<C>(-static_cast<C>(uint64_t{1} << (d.bits - 2)) * 2);
}

tn_status forward(const Call& call, const Tensor& out, const Tensor& indices, const Tensor& self,
                  int nd, const PoolWindows* windows) {
  if (out.numel() == 0) return TN_OK;
  PoolForward f{{}, Volume(self, nd), Extents(out, nd)};
  if (!make_pool(&f.pool, self, out, nd, windows)) return TN_DECLINED;
  with_elements(out.dtype(), [&](auto elements) {
    using E = decltype(elements);
    const Volume values(out, nd), positions(indices, nd);
    reduce_windows(call, f, elements,
                   Max<E>{elements, values, positions, lowest_of<typename E::C>(out.dtype())});
  });
  return TN_OK;
}

tn_status backward(const Call& call, const Tensor& out, const Tensor& grad, const Tensor& indices,
                   int nd, const PoolWindows* windows) {
  if (grad.numel() == 0) fill_elements(call, out, 0);
  if (grad.numel() == 0 || out.numel() == 0) return TN_OK;
  Backward b{{},
             Volume(grad, nd),
             Volume(indices, nd),
             Volume(out, nd),
             Extents(out, nd),
             grad.numel(),
             call.workspace<unsigned long long>(),
             Faults(call)};
  if (!make_pool(&b.pool, out, grad, nd, windows)) return TN_DECLINED;
  fill_bytes(call, b.matched, sizeof *b.matched, 0);
  with_elements(out.dtype(), [&](auto elements) {
    using E = decltype(elements);
    launch<gather<E>>(call, shape_for(call, b.inputs.numel), b, elements);
    const int64_t tiles = b.inputs.numel / b.pool.in_plane() * ceil_div(b.pool.in_plane(), kTile);
    launch<gather_strays<E>>(call, {std::min(tiles, max_blocks(call)), 64}, b, elements);
  });
  return TN_OK;
}

template <int nd>
tn_status max_pool(Call& call, Tensor out, Tensor indices, Tensor self, Ints kernel, Ints stride,
                   Ints pad, Ints dilation, bool) {
  const PoolWindows windows{kernel, stride, pad, dilation};
  return forward(call, out, indices, self, nd, &windows);
}
template <int nd>
tn_status max_pool_backward(Call& call, Tensor out, Tensor grad, Tensor, Ints kernel, Ints stride,
                            Ints pad, Ints dilation, bool, Tensor indices) {
  const PoolWindows windows{kernel, stride, pad, dilation};
  return backward(call, out, grad, indices, nd, &windows);
}
template <int nd>
tn_status adaptive(Call& call, Tensor out, Tensor indices, Tensor self, Ints) {
  return forward(call, out, indices, self, nd, nullptr);
}
template <int nd>
tn_status adaptive_backward(Call& call, Tensor out, Tensor grad, Tensor, Tensor indices) {
  return backward(call, out, grad, indices, nd, nullptr);
}

tn_status counter_workspace(tn_call*, uint64_t* bytes) {
  *bytes = sizeof(unsigned long long);
  return TN_OK;
}

}  // namespace

TN_KERNEL(max_pool2d_with_indices, max_pool<2>, dtypes("number").any_strides().capture_safe());
TN_KERNEL(max_pool3d_with_indices, max_pool<3>, dtypes("number").any_strides().capture_safe());
TN_KERNEL(max_pool2d_with_indices_backward, max_pool_backward<2>,
          dtypes("number").any_strides().workspace(counter_workspace).capture_safe());
TN_KERNEL(max_pool3d_with_indices_backward, max_pool_backward<3>,
          dtypes("number").any_strides().workspace(counter_workspace).capture_safe());
TN_KERNEL(adaptive_max_pool2d, adaptive<2>, dtypes("floating").any_strides().capture_safe());
TN_KERNEL(adaptive_max_pool3d, adaptive<3>, dtypes("floating").any_strides().capture_safe());
TN_KERNEL(adaptive_max_pool2d_backward, adaptive_backward<2>,
          dtypes("floating").any_strides().workspace(counter_workspace).capture_safe());
TN_KERNEL(adaptive_max_pool3d_backward, adaptive_backward<3>,
          dtypes("floating").any_strides().workspace(counter_workspace).capture_safe());

}  // namespace tenon::cuda
