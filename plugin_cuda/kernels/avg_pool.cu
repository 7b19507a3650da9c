// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Means of windows or cells; an element's gradient is the sum over the outputs that it is in, in
// their order.
#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/pool.cuh"
#include "tenon/sdk/ops/_adaptive_avg_pool2d.h"
#include "tenon/sdk/ops/_adaptive_avg_pool2d_backward.h"
#include "tenon/sdk/ops/_adaptive_avg_pool3d.h"
#include "tenon/sdk/ops/_adaptive_avg_pool3d_backward.h"
#include "tenon/sdk/ops/avg_pool2d.h"
#include "tenon/sdk/ops/avg_pool2d_backward.h"
#include "tenon/sdk/ops/avg_pool3d.h"
#include "tenon/sdk/ops/avg_pool3d_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// The divisor of a window's sum.
struct Divisor {
  int64_t fixed = 0;  // 0: computed from the window
  bool include_pad = false;

  TN_DEVICE int64_t along(const Pool& p, int d, int32_t o) const {
    if (include_pad) return p.axis[d].padded(o);
    const Range r = p.inside(d, o);
    return r.last > r.first ? r.last - r.first : 1;
  }
  TN_DEVICE int64_t of(const Pool& p, int32_t d, int32_t h, int32_t w) const {
    return fixed != 0 ? fixed : along(p, 0, d) * along(p, 1, h) * along(p, 2, w);
  }
};

template <class E>
struct Mean {
  using C = typename E::C;
  using Acc = C;
  E elements;
  Volume out;
  Divisor divisor;
  TN_DEVICE C identity() const { return C(0); }
  TN_DEVICE C reduce(C sum, C v, int32_t) const { return sum + v; }
  TN_DEVICE C combine(C a, C b) const { return a + b; }
  TN_DEVICE void put(const Pool& p, const Place& o, C sum) const {
    elements.put(out.element(o), sum / static_cast<C>(divisor.of(p, o.at[2], o.at[3], o.at[4])));
  }
};

struct Backward {
  Pool pool;
  Volume grad, grad_input;
  Extents inputs;
  Divisor divisor;
};

template <class E>
__global__ void gather(Backward b, E elements) {
  using C = typename E::C;
  for (int64_t i = global_thread(); i < b.inputs.numel; i += global_threads()) {
    const Place x = b.inputs.place(i);
    const char* plane = b.grad.plane(x);
    const Range r0 = b.pool.over(0, x.at[2]), r1 = b.pool.over(1, x.at[3]),
                r2 = b.pool.over(2, x.at[4]);
    C sum = 0;
    for (int32_t d = r0.first; d < r0.last; ++d) {
      for (int32_t h = r1.first; h < r1.last; ++h) {
        const char* line = plane + d * b.grad.stride[2] + h * b.grad.stride[3];
        for (int32_t w = r2.first; w < r2.last; ++w) {
          sum += elements.get(line + w * b.grad.stride[4]) /
                 static_cast<C>(b.divisor.of(b.pool, d, h, w));
        }
      }
    }
    elements.put(b.grad_input.element(x), sum);
  }
}

tn_status forward(const Call& call, const Tensor& out, const Tensor& self, int nd,
                  const PoolWindows* windows, const Divisor& divisor) {
  if (out.numel() == 0) return TN_OK;
  PoolForward f{{}, Volume(self, nd), Extents(out, nd)};
  if (!make_pool(&f.pool, self, out, nd, windows)) return TN_DECLINED;
  with_elements(out.dtype(), [&](auto elements) {
    reduce_windows(call, f, elements, Mean<decltype(elements)>{elements, Volume(out, nd), divisor});
  });
  return TN_OK;
}

tn_status backward(const Call& call, const Tensor& out, const Tensor& grad, int nd,
                   const PoolWindows* windows, const Divisor& divisor) {
  if (grad.numel() == 0) fill_elements(call, out, 0);
  if (grad.numel() == 0 || out.numel() == 0) return TN_OK;
  Backward b{{}, Volume(grad, nd), Volume(out, nd), Extents(out, nd), divisor};
  if (!make_pool(&b.pool, out, grad, nd, windows)) return TN_DECLINED;
  with_elements(out.dtype(), [&](auto elements) {
    launch<gather<decltype(elements)>>(call, shape_for(call, b.inputs.numel), b, elements);
  });
  return TN_OK;
}

using OptInt = std::optional<int64_t>;

template <int nd>
tn_status avg_pool(Call& call, Tensor out, Tensor self, Ints kernel, Ints stride, Ints pad, bool,
                   bool include_pad, OptInt divisor) {
  const PoolWindows windows{kernel, stride, pad, {}};
  return forward(call, out, self, nd, &windows, {divisor.value_or(0), include_pad});
}
template <int nd>
tn_status avg_pool_backward(Call& call, Tensor out, Tensor grad, Tensor, Ints kernel, Ints stride,
                            Ints pad, bool, bool include_pad, OptInt divisor) {
  const PoolWindows windows{kernel, stride, pad, {}};
  return backward(call, out, grad, nd, &windows, {divisor.value_or(0), include_pad});
}
template <int nd>
tn_status adaptive(Call& call, Tensor out, Tensor self, Ints) {
  return forward(call, out, self, nd, nullptr, {});
}
template <int nd>
tn_status adaptive_backward(Call& call, Tensor out, Tensor grad, Tensor) {
  return backward(call, out, grad, nd, nullptr, {});
}

}  // namespace

TN_KERNEL(avg_pool2d, avg_pool<2>, dtypes("number").any_strides().capture_safe());
TN_KERNEL(avg_pool3d, avg_pool<3>, dtypes("number").any_strides().capture_safe());
TN_KERNEL(avg_pool2d_backward, avg_pool_backward<2>, dtypes("number").any_strides().capture_safe());
TN_KERNEL(avg_pool3d_backward, avg_pool_backward<3>, dtypes("number").any_strides().capture_safe());
TN_KERNEL(_adaptive_avg_pool2d, adaptive<2>, dtypes("floating").any_strides().capture_safe());
TN_KERNEL(_adaptive_avg_pool3d, adaptive<3>, dtypes("floating").any_strides().capture_safe());
TN_KERNEL(_adaptive_avg_pool2d_backward, adaptive_backward<2>,
          dtypes("floating").any_strides().capture_safe());
TN_KERNEL(_adaptive_avg_pool3d_backward, adaptive_backward<3>,
          dtypes("floating").any_strides().capture_safe());

}  // namespace tenon::cuda
