// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Windows of pooling and cells of adaptive pooling: the elements of an output, and the outputs of
// an element.
#pragma once

#include <algorithm>

#include "plugin_cuda/device/launch.cuh"
#include "plugin_cuda/device/volume.cuh"
#include "plugin_cuda/device/warp.cuh"

namespace tenon::cuda {

// Positions first, first + step, ... below last.
struct Range {
  int32_t first, last, step;
  TN_DEVICE int32_t count() const { return last > first ? (last - first + step - 1) / step : 0; }
};

struct PoolAxis {
  int32_t in = 1, out = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;
  Divider by_stride, by_in, by_out;
  bool narrow = true;  // in * out has 32 bits

  // ceil((i + 1) * to / from) and floor(i * to / from)
  TN_DEVICE Range share(int32_t i, int32_t from, int32_t to, const Divider& by) const {
    if (narrow) {
      const uint32_t low = static_cast<uint32_t>(i) * static_cast<uint32_t>(to);
      const uint32_t high = low + static_cast<uint32_t>(to + from - 1);
      return {static_cast<int32_t>(by.divide(low)), static_cast<int32_t>(by.divide(high)), 1};
    }
    const int64_t low = static_cast<int64_t>(i) * to;
    return {static_cast<int32_t>(low / from), static_cast<int32_t>((low + to + from - 1) / from),
            1};
  }
  TN_DEVICE Range cell(int32_t o) const { return share(o, out, in, by_out); }
  TN_DEVICE Range cells_with(int32_t x) const { return share(x, in, out, by_in); }

  TN_DEVICE Range window(int32_t o) const {
    const int32_t start = o * stride - pad, end = start + (kernel - 1) * dilation + 1;
    const int32_t first = start >= 0      ? start
                          : dilation == 1 ? 0
                                          : start + (dilation - 1 - start) / dilation * dilation;
    return {first, end < in ? end : in, dilation};
  }
  // Windows whose extent contains x; dilated ones may skip it.
  TN_DEVICE Range windows_over(int32_t x) const {
    const int32_t at = x + pad, reach = (kernel - 1) * dilation + 1;
    const int32_t first =
        at < reach ? 0
                   : static_cast<int32_t>(by_stride.divide(static_cast<uint32_t>(at - reach))) + 1;
    const int32_t last = static_cast<int32_t>(by_stride.divide(static_cast<uint32_t>(at))) + 1;
    return {first, last < out ? last : out, 1};
  }
  // Elements of a window, padding included.
  TN_DEVICE int32_t padded(int32_t o) const {
    const int32_t start = o * stride - pad, end = start + kernel;
    return (end < in + pad ? end : in + pad) - start;
  }
};

struct Pool {
  PoolAxis axis[3];
  bool cells;  // of adaptive pooling

  TN_DEVICE Range inside(int d, int32_t o) const {
    return cells ? axis[d].cell(o) : axis[d].window(o);
  }
  TN_DEVICE Range over(int d, int32_t x) const {
    return cells ? axis[d].cells_with(x) : axis[d].windows_over(x);
  }
  TN_DEVICE int32_t position(int32_t d, int32_t h, int32_t w) const {
    return (d * axis[1].in + h) * axis[2].in + w;
  }
  int64_t in_plane() const { return int64_t{axis[0].in} * axis[1].in * axis[2].in; }
  int64_t out_plane() const { return int64_t{axis[0].out} * axis[1].out * axis[2].out; }
  // Roughly the number of elements per output.
  int64_t window_size() const {
    int64_t n = 1;
    for (const PoolAxis& a : axis) n *= cells ? ceil_div(a.in, a.out) : std::min(a.kernel, a.in);
    return n;
  }
};

// Arguments of the windows; empty spans are defaults. Adaptive pooling has none.
struct PoolWindows {
  sdk::Ints kernel, stride, pad, dilation;
};

// False if 32-bit positions do not suffice. x is the input of the forward pass, y its output.
inline bool make_pool(Pool* p, const sdk::Tensor& x, const sdk::Tensor& y, int nd,
                      const PoolWindows* windows) {
  *p = Pool();
  p->cells = windows == nullptr;
  if (!fits_volume(x) || !fits_volume(y)) return false;
  for (int d = 0; d < nd; ++d) {
    PoolAxis& a = p->axis[3 - nd + d];
    a.in = static_cast<int32_t>(x.size(d - nd));
    a.out = static_cast<int32_t>(y.size(d - nd));
    if (windows != nullptr) {
      const auto item = [&](const sdk::Ints& v, int64_t none) {
        return v.empty() ? none : v[v.size() == 1 ? 0 : d];
      };
      const int64_t kernel = item(windows->kernel, 1), pad = item(windows->pad, 0),
                    gap = item(windows->dilation, 1);
      const int64_t max = INT32_MAX / 4;
      if (kernel > max || pad > max || gap > max || (kernel - 1) * gap > max) return false;
      a.kernel = static_cast<int32_t>(kernel);
      a.pad = static_cast<int32_t>(pad);
      a.dilation = static_cast<int32_t>(gap);
      // A stride beyond the padded input leaves one window.
      a.stride = static_cast<int32_t>(
          std::min(item(windows->stride, kernel), int64_t{a.in} + 2 * pad + 1));
    }
    a.by_stride = Divider(static_cast<uint32_t>(a.stride));
    a.by_in = Divider(static_cast<uint32_t>(a.in));
    a.by_out = Divider(static_cast<uint32_t>(a.out));
    a.narrow = (int64_t{a.in} + 1) * (int64_t{a.out} + 1) <= INT32_MAX;
  }
  return p->in_plane() <= INT32_MAX && p->out_plane() <= INT32_MAX;
}

// One result per window of `in`. An Op has Acc, identity(), reduce(acc, element, position in the
// plane), combine(acc, acc) and put(pool, place, acc).
struct PoolForward {
  Pool pool;
  Volume in;
  Extents outputs;
};

template <class E, class Op>
__global__ void reduce_by_threads(PoolForward f, E elements, Op op) {
  for (int64_t i = global_thread(); i < f.outputs.numel; i += global_threads()) {
    const Place o = f.outputs.place(i);
    const char* plane = f.in.plane(o);
    const Range r0 = f.pool.inside(0, o.at[2]), r1 = f.pool.inside(1, o.at[3]),
                r2 = f.pool.inside(2, o.at[4]);
    typename Op::Acc acc = op.identity();
    for (int32_t d = r0.first; d < r0.last; d += r0.step) {
      for (int32_t h = r1.first; h < r1.last; h += r1.step) {
        const char* line = plane + d * f.in.stride[2] + h * f.in.stride[3];
        const int32_t start = f.pool.position(d, h, 0);
        for (int32_t w = r2.first; w < r2.last; w += r2.step) {
          acc = op.reduce(acc, elements.get(line + w * f.in.stride[4]), start + w);
        }
      }
    }
    op.put(f.pool, o, acc);
  }
}

// One warp per window, for large windows that do not overlap.
template <class E, class Op>
__global__ void reduce_by_warps(PoolForward f, E elements, Op op) {
  const int64_t warps = global_threads() / kWarp;
  for (int64_t i = global_thread() / kWarp; i < f.outputs.numel; i += warps) {
    const Place o = f.outputs.place(i);
    const char* plane = f.in.plane(o);
    const Range r0 = f.pool.inside(0, o.at[2]), r1 = f.pool.inside(1, o.at[3]),
                r2 = f.pool.inside(2, o.at[4]);
    const uint32_t wide = static_cast<uint32_t>(r2.count()),
                   high = static_cast<uint32_t>(r1.count());
    const uint32_t n = wide * high * static_cast<uint32_t>(r0.count());
    typename Op::Acc acc = op.identity();
    for (uint32_t k = static_cast<uint32_t>(lane()); k < n; k += kWarp) {
      const int32_t w = r2.first + static_cast<int32_t>(k % wide) * r2.step;
      const int32_t h = r1.first + static_cast<int32_t>(k / wide % high) * r1.step;
      const int32_t d = r0.first + static_cast<int32_t>(k / wide / high) * r0.step;
      const char* p = plane + d * f.in.stride[2] + h * f.in.stride[3] + w * f.in.stride[4];
      acc = op.reduce(acc, elements.get(p), f.pool.position(d, h, w));
    }
    acc = warp_reduce(acc, [&](const auto& a, const auto& b) { return op.combine(a, b); });
    if (lane() == 0) op.put(f.pool, o, acc);
  }
}

template <class E, class Op>
void reduce_windows(const sdk::Call& call, const PoolForward& f, const E& elements, const Op& op) {
  bool disjoint = true;
  for (const PoolAxis& a : f.pool.axis)
    disjoint = disjoint && (f.pool.cells || a.stride >= a.kernel);
  if (disjoint && f.pool.window_size() >= kWarp)
    launch<reduce_by_warps<E, Op>>(call, shape_for(call, f.outputs.numel * kWarp), f, elements, op);
  else
    launch<reduce_by_threads<E, Op>>(call, shape_for(call, f.outputs.numel), f, elements, op);
}

}  // namespace tenon::cuda
