// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling: the device computes a table of indices and weights per axis, then each thread
// computes one element from the tables. Gradients are gathered, too: a binary search of the tables
// finds the range of outputs that use an element. 16-bit floats are computed in float, uint8 with
// integer weights.
#include <cmath>
#include <initializer_list>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/index.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/ops/_upsample_bicubic2d_aa.h"
#include "tenon/sdk/ops/_upsample_bicubic2d_aa_backward.h"
#include "tenon/sdk/ops/_upsample_bilinear2d_aa.h"
#include "tenon/sdk/ops/_upsample_bilinear2d_aa_backward.h"
#include "tenon/sdk/ops/_upsample_nearest_exact1d.h"
#include "tenon/sdk/ops/_upsample_nearest_exact1d_backward.h"
#include "tenon/sdk/ops/_upsample_nearest_exact2d.h"
#include "tenon/sdk/ops/_upsample_nearest_exact2d_backward.h"
#include "tenon/sdk/ops/_upsample_nearest_exact3d.h"
#include "tenon/sdk/ops/_upsample_nearest_exact3d_backward.h"
#include "tenon/sdk/ops/upsample_bicubic2d.h"
#include "tenon/sdk/ops/upsample_bicubic2d_backward.h"
#include "tenon/sdk/ops/upsample_bilinear2d.h"
#include "tenon/sdk/ops/upsample_bilinear2d_backward.h"
#include "tenon/sdk/ops/upsample_linear1d.h"
#include "tenon/sdk/ops/upsample_linear1d_backward.h"
#include "tenon/sdk/ops/upsample_nearest1d.h"
#include "tenon/sdk/ops/upsample_nearest1d_backward.h"
#include "tenon/sdk/ops/upsample_nearest2d.h"
#include "tenon/sdk/ops/upsample_nearest2d_backward.h"
#include "tenon/sdk/ops/upsample_nearest3d.h"
#include "tenon/sdk/ops/upsample_nearest3d_backward.h"
#include "tenon/sdk/ops/upsample_trilinear3d.h"
#include "tenon/sdk/ops/upsample_trilinear3d_backward.h"
#include "tenon/sdk/resample.h"

namespace tenon::cuda {
namespace {

using namespace sdk;
using OptFloat = std::optional<double>;

// Entries `o * taps + t` of output element o, and of input element i the range of output elements
// that use it.
struct Axis {
  int32_t in, out, taps;
  Divider in_size, out_size;
  int32_t* index;
  int32_t* from;  // in + 1 of each
  int32_t* to;
  int32_t* integer_weight;  // for uint8, in units of 2^-bits
  int32_t* bits;
  void* weight;
  ResampleLine line;
};
template <class C>
TN_DEVICE C weight_at(const Axis& a, int32_t k) {
  return static_cast<const C*>(a.weight)[k];
}

struct Axes {
  Axis d, h, w;
  int64_t in_plane, out_plane;
};

template <class C>
TN_DEVICE void fill(const Axis& a, int64_t o) {
  a.line.find(o, a.index + o * a.taps, static_cast<C*>(a.weight) + o * a.taps);
}

template <class C>
__global__ void fill_tables(Axes s) {
  const int64_t d = s.d.out, h = s.h.out, all = d + h + s.w.out;
  for (int64_t i = global_thread(); i < all; i += global_threads()) {
    if (i < d)
      fill<C>(s.d, i);
    else if (i < d + h)
      fill<C>(s.h, i - d);
    else
      fill<C>(s.w, i - d - h);
  }
}

// The first output element whose tap t has an index of at least `min`.
TN_DEVICE int32_t search(const Axis& a, int32_t t, int32_t min) {
  int32_t low = 0, high = a.out;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (a.index[static_cast<int64_t>(middle) * a.taps + t] < min)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
TN_DEVICE void find_range(const Axis& a, int64_t i) {
  a.from[i] = search(a, a.taps - 1, static_cast<int32_t>(i));
  a.to[i] = search(a, 0, static_cast<int32_t>(i) + 1);
}

__global__ void find_ranges(Axes s) {
  const int64_t d = s.d.in, h = s.h.in, all = d + h + s.w.in;
  for (int64_t i = global_thread(); i < all; i += global_threads()) {
    if (i < d)
      find_range(s.d, i);
    else if (i < d + h)
      find_range(s.h, i - d);
    else
      find_range(s.w, i - d - h);
  }
}

// Element i of some planes: which plane, and where in it.
struct Position {
  uint32_t plane, d, h, w;
};
TN_DEVICE Position position(uint32_t i, const Divider& d, const Divider& h, const Divider& w) {
  const uint32_t lines = w.divide(i), slices = h.divide(lines), plane = d.divide(slices);
  return {plane, slices - plane * d.divisor, lines - slices * h.divisor, i - lines * w.divisor};
}

// Each output element is an element of the input.
template <class U>
__global__ void gather_nearest(Axes s, uint32_t n, const U* x, U* y) {
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const Position p = position(static_cast<uint32_t>(i), s.d.out_size, s.h.out_size, s.w.out_size);
    const int64_t line = static_cast<int64_t>(s.d.index[p.d]) * s.h.in + s.h.index[p.h];
    y[i] = x[p.plane * s.in_plane + line * s.w.in + s.w.index[p.w]];
  }
}

template <class T, class C>
__global__ void resample(Axes s, uint32_t n, const T* x, T* y) {
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const Position p = position(static_cast<uint32_t>(i), s.d.out_size, s.h.out_size, s.w.out_size);
    const T* const plane = x + p.plane * s.in_plane;
    const int32_t d0 = static_cast<int32_t>(p.d) * s.d.taps,
                  h0 = static_cast<int32_t>(p.h) * s.h.taps,
                  w0 = static_cast<int32_t>(p.w) * s.w.taps;
    C sum = 0;
    for (int32_t kd = d0; kd < d0 + s.d.taps; ++kd) {
      for (int32_t kh = h0; kh < h0 + s.h.taps; ++kh) {
        const T* const line =
            plane + (static_cast<int64_t>(s.d.index[kd]) * s.h.in + s.h.index[kh]) * s.w.in;
        C part = 0;
        for (int32_t kw = w0; kw < w0 + s.w.taps; ++kw) {
          part += weight_at<C>(s.w, kw) * static_cast<C>(line[s.w.index[kw]]);
        }
        sum += weight_at<C>(s.d, kd) * weight_at<C>(s.h, kh) * part;
      }
    }
    y[i] = T(sum);
  }
}

// The weight of element i in output element o.
template <class C>
TN_DEVICE C weight_in(const Axis& a, int32_t o, int32_t i) {
  C sum = 0;
  for (int32_t k = o * a.taps; k < (o + 1) * a.taps; ++k) {
    if (a.index[k] == i) sum += weight_at<C>(a, k);
  }
  return sum;
}

template <class T, class C>
__global__ void gather_gradient(Axes s, uint32_t n, const T* dy, T* dx) {
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const Position p = position(static_cast<uint32_t>(i), s.d.in_size, s.h.in_size, s.w.in_size);
    const int32_t d = static_cast<int32_t>(p.d), h = static_cast<int32_t>(p.h),
                  w = static_cast<int32_t>(p.w);
    const T* const plane = dy + p.plane * s.out_plane;
    C sum = 0;
    for (int32_t od = s.d.from[d]; od < s.d.to[d]; ++od) {
      const C by_d = weight_in<C>(s.d, od, d);
      for (int32_t oh = s.h.from[h]; oh < s.h.to[h]; ++oh) {
        const T* const line = plane + (static_cast<int64_t>(od) * s.h.out + oh) * s.w.out;
        C part = 0;
        for (int32_t ow = s.w.from[w]; ow < s.w.to[w]; ++ow) {
          part += weight_in<C>(s.w, ow, w) * static_cast<C>(line[ow]);
        }
        sum += by_d * weight_in<C>(s.h, oh, h) * part;
      }
    }
    dx[i] = T(sum);
  }
}

// sdk::byte_axis() of a table of doubles, in place; one block per axis.
TN_DEVICE double merge_taps(const Axis& a, int64_t o) {
  int32_t* const index = a.index + o * a.taps;
  double* const weight = static_cast<double*>(a.weight) + o * a.taps;
  double max = weight[0] > 0 ? weight[0] : 0;
  int32_t to = 0;
  for (int32_t k = 1; k < a.taps; ++k) {
    const bool next = index[k] != index[to];
    to += next;
    index[to] = index[k];
    weight[to] = next ? weight[k] : weight[to] + weight[k];
    if (weight[to] > max) max = weight[to];
  }
  for (int32_t k = to + 1; k < a.taps; ++k) {
    index[k] = index[to];
    weight[k] = 0;
  }
  return max;
}

struct Max {
  TN_DEVICE double operator()(double a, double b) const { return a < b ? b : a; }
};

__global__ void integer_weights(Axis h, Axis w) {
  const Axis& a = blockIdx.x == 0 ? h : w;
  double max = 0;
  for (int64_t o = threadIdx.x; o < a.out; o += blockDim.x) {
    const double mine = merge_taps(a, o);
    if (mine > max) max = mine;
  }
  max = block_reduce(max, 0.0, Max());
  int bits = 0;
  while (bits < 22 && static_cast<int>(0.5 + max * (1 << (bits + 1))) < 1 << 15) ++bits;
  if (threadIdx.x == 0) *a.bits = bits;
  for (int64_t k = threadIdx.x; k < static_cast<int64_t>(a.out) * a.taps; k += blockDim.x) {
    const double v = static_cast<const double*>(a.weight)[k] * (1 << bits);
    a.integer_weight[k] = static_cast<int32_t>(v < 0 ? v - 0.5 : v + 0.5);
  }
}

TN_DEVICE int32_t rounding(int32_t bits) { return bits > 0 ? 1 << (bits - 1) : 0; }
TN_DEVICE int32_t as_byte(int32_t sum, int32_t bits) {
  sum >>= bits;
  return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

// Along the width first; intermediate results are rounded to uint8.
__global__ void resample_bytes(Axes s, uint32_t n, const uint8_t* x, uint8_t* y) {
  const int32_t h_bits = *s.h.bits, w_bits = *s.w.bits;
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const Position p = position(static_cast<uint32_t>(i), s.d.out_size, s.h.out_size, s.w.out_size);
    const int32_t h0 = static_cast<int32_t>(p.h) * s.h.taps,
                  w0 = static_cast<int32_t>(p.w) * s.w.taps;
    int32_t sum = rounding(h_bits);
    for (int32_t kh = h0; kh < h0 + s.h.taps; ++kh) {
      const uint8_t* const line =
          x + p.plane * s.in_plane + static_cast<int64_t>(s.h.index[kh]) * s.w.in;
      int32_t part = rounding(w_bits);
      for (int32_t kw = w0; kw < w0 + s.w.taps; ++kw)
        part += s.w.integer_weight[kw] * line[s.w.index[kw]];
      sum += s.h.integer_weight[kh] * as_byte(part, w_bits);
    }
    y[i] = static_cast<uint8_t>(as_byte(sum, h_bits));
  }
}

// The axes of a call and the memory of their tables.
struct Plan {
  ResampleLine lines[3];
  int64_t planes = 0;

  Plan(const Tensor& in, const Tensor& out, Resampling how, bool align_corners,
       const OptFloat* scales) {
    planes = in.size(0) * in.size(1);
    const int nd = in.ndim() - 2;
    for (int d = 0; d < nd; ++d) {
      lines[3 - nd + d] =
          ResampleLine(how, in.size(d + 2), out.size(d + 2), align_corners, scales[d]);
    }
  }
  int64_t in_plane() const { return lines[0].in * lines[1].in * lines[2].in; }
  int64_t out_plane() const { return lines[0].out * lines[1].out * lines[2].out; }
  bool is_nearest() const { return lines[0].taps * lines[1].taps * lines[2].taps == 1; }
  bool fits() const {
    for (const ResampleLine& l : lines) {
      if (l.in >= kPieceElements || l.out * l.taps >= kPieceElements) return false;
    }
    return in_plane() <= kPieceElements && out_plane() <= kPieceElements;
  }
  static int64_t entries(const ResampleLine& l) { return l.out * l.taps; }
  static int64_t bytes(const ResampleLine& l) { return 16 * entries(l) + 8 * l.in + 8; }
  int64_t bytes() const { return bytes(lines[0]) + bytes(lines[1]) + bytes(lines[2]); }

  static Axis axis(const ResampleLine& l, char*& at) {
    Axis a{};
    a.in = static_cast<int32_t>(l.in);
    a.out = static_cast<int32_t>(l.out);
    a.taps = static_cast<int32_t>(l.taps);
    a.in_size = Divider(static_cast<uint32_t>(l.in));
    a.out_size = Divider(static_cast<uint32_t>(l.out));
    a.line = l;
    a.weight = at;
    a.index = reinterpret_cast<int32_t*>(at + 8 * entries(l));
    a.integer_weight = a.index + entries(l);
    a.from = a.integer_weight + entries(l);
    a.to = a.from + l.in;
    a.bits = a.to + l.in;
    at += bytes(l);
    return a;
  }
  Axes axes(const Call& call) const {
    char* at = call.workspace<char>();
    Axes s{};
    s.d = axis(lines[0], at);
    s.h = axis(lines[1], at);
    s.w = axis(lines[2], at);
    s.in_plane = in_plane();
    s.out_plane = out_plane();
    return s;
  }
  Shape table_shape(const Call& call, bool backward) const {
    int64_t n = 0;
    for (const ResampleLine& l : lines) n += backward ? l.in : l.out;
    return shape_for(call, n, 128);
  }
  // f(first plane, elements) for runs of planes of `plane` elements whose total has 32 bits.
  template <class F>
  void for_each_run(int64_t plane, F&& f) const {
    const int64_t max = std::max<int64_t>(1, kPieceElements / plane);
    for (int64_t first = 0; first < planes; first += max) {
      f(first, static_cast<uint32_t>(std::min(max, planes - first) * plane));
    }
  }
};

template <Resampling how, bool back>
tn_status workspace(tn_call* call, uint64_t* bytes) {
  const Tensor a(call->in[0].u.tensor), b(call->out[0].u.tensor), in = back ? b : a,
                                                                  out = back ? a : b;
  const uint32_t nd = static_cast<uint32_t>(in.ndim() - 2), first = call->n_in - nd;
  OptFloat scales[3];
  for (uint32_t d = 0; d < nd; ++d)
    scales[d] = sdk::detail::Unpack<OptFloat>::get(call->in[first + d]);
  const tn_value& before = call->in[first - 1];
  const Plan plan(in, out, how, before.tag == TN_TAG_BOOL && sdk::detail::Unpack<bool>::get(before),
                  scales);
  *bytes = plan.fits() ? static_cast<uint64_t>(plan.bytes()) : 0;
  return TN_OK;
}

tn_status forward(const Call& call, const Tensor& out, const Tensor& self, Resampling how,
                  bool align_corners, std::initializer_list<OptFloat> scales) {
  if (out.numel() == 0) return TN_OK;
  const Plan plan(self, out, how, align_corners, scales.begin());
  if (!plan.fits()) return TN_DECLINED;
  const Axes s = plan.axes(call);
  const bool bytes = self.dtype() == kUInt8;
  if (bytes || self.dtype() == kFloat64)
    launch<fill_tables<double>>(call, plan.table_shape(call, false), s);
  else
    launch<fill_tables<float>>(call, plan.table_shape(call, false), s);
  if (bytes && !plan.is_nearest()) launch<integer_weights>(call, {2, 256}, s.h, s.w);
  plan.for_each_run(s.out_plane, [&](int64_t first, uint32_t n) {
    const int64_t from = first * s.in_plane, to = first * s.out_plane;
    if (plan.is_nearest()) {
      dispatch_size(self.dtype(), [&](auto tag) {
        using U = tn_type(tag);
        launch<gather_nearest<U>>(call, shape_for(call, n, 256, 2), s, n,
                                  self.data<const U>() + from, out.data<U>() + to);
      });
    } else if (bytes) {
      launch<resample_bytes>(call, shape_for(call, n), s, n, self.data<const uint8_t>() + from,
                             out.data<uint8_t>() + to);
    } else {
      dispatch_floating(self.dtype(), [&](auto tag) {
        using T = tn_type(tag);
        launch<resample<T, compute_t<T>>>(call, shape_for(call, n), s, n,
                                          self.data<const T>() + from, out.data<T>() + to);
      });
    }
  });
  return TN_OK;
}

tn_status backward(const Call& call, const Tensor& out, const Tensor& grad, Resampling how,
                   bool align_corners, std::initializer_list<OptFloat> scales) {
  if (out.numel() == 0) return TN_OK;
  const Plan plan(out, grad, how, align_corners, scales.begin());
  if (!plan.fits()) return TN_DECLINED;
  const Axes s = plan.axes(call);
  if (out.dtype() == kFloat64)
    launch<fill_tables<double>>(call, plan.table_shape(call, false), s);
  else
    launch<fill_tables<float>>(call, plan.table_shape(call, false), s);
  launch<find_ranges>(call, plan.table_shape(call, true), s);
  plan.for_each_run(s.in_plane, [&](int64_t first, uint32_t n) {
    dispatch_floating(out.dtype(), [&](auto tag) {
      using T = tn_type(tag);
      launch<gather_gradient<T, compute_t<T>>>(call, shape_for(call, n), s, n,
                                               grad.data<const T>() + first * s.out_plane,
                                               out.data<T>() + first * s.in_plane);
    });
  });
  return TN_OK;
}

template <Resampling how>
tn_status aligned_line(Call& c, Tensor out, Tensor self, Ints, bool corners, OptFloat w) {
  return forward(c, out, self, how, corners, {w});
}
template <Resampling how>
tn_status aligned_plane(Call& c, Tensor out, Tensor self, Ints, bool corners, OptFloat h,
                        OptFloat w) {
  return forward(c, out, self, how, corners, {h, w});
}
template <Resampling how>
tn_status aligned_volume(Call& c, Tensor out, Tensor self, Ints, bool corners, OptFloat d,
                         OptFloat h, OptFloat w) {
  return forward(c, out, self, how, corners, {d, h, w});
}
template <Resampling how>
tn_status line(Call& c, Tensor out, Tensor self, Ints, OptFloat w) {
  return forward(c, out, self, how, false, {w});
}
template <Resampling how>
tn_status plane(Call& c, Tensor out, Tensor self, Ints, OptFloat h, OptFloat w) {
  return forward(c, out, self, how, false, {h, w});
}
template <Resampling how>
tn_status volume(Call& c, Tensor out, Tensor self, Ints, OptFloat d, OptFloat h, OptFloat w) {
  return forward(c, out, self, how, false, {d, h, w});
}
template <Resampling how>
tn_status backward_aligned_line(Call& c, Tensor out, Tensor grad, Ints, Ints, bool corners,
                                OptFloat w) {
  return backward(c, out, grad, how, corners, {w});
}
template <Resampling how>
tn_status backward_aligned_plane(Call& c, Tensor out, Tensor grad, Ints, Ints, bool corners,
                                 OptFloat h, OptFloat w) {
  return backward(c, out, grad, how, corners, {h, w});
}
template <Resampling how>
tn_status backward_aligned_volume(Call& c, Tensor out, Tensor grad, Ints, Ints, bool corners,
                                  OptFloat d, OptFloat h, OptFloat w) {
  return backward(c, out, grad, how, corners, {d, h, w});
}
template <Resampling how>
tn_status backward_line(Call& c, Tensor out, Tensor grad, Ints, Ints, OptFloat w) {
  return backward(c, out, grad, how, false, {w});
}
template <Resampling how>
tn_status backward_plane(Call& c, Tensor out, Tensor grad, Ints, Ints, OptFloat h, OptFloat w) {
  return backward(c, out, grad, how, false, {h, w});
}
template <Resampling how>
tn_status backward_volume(Call& c, Tensor out, Tensor grad, Ints, Ints, OptFloat d, OptFloat h,
                          OptFloat w) {
  return backward(c, out, grad, how, false, {d, h, w});
}

constexpr Resampling kNearest = Resampling::kNearest, kNearestExact = Resampling::kNearestExact,
                     kLinear = Resampling::kLinear, kCubic = Resampling::kCubic,
                     kLinearWide = Resampling::kLinearWide, kCubicWide = Resampling::kCubicWide;

}  // namespace

#define RESAMPLE(op, shape, how, types)                                                      \
  TN_KERNEL(op, shape<how>, dtypes(types).workspace(&workspace<how, false>).capture_safe()); \
  TN_KERNEL(op##_backward, backward_##shape<how>,                                            \
            dtypes("floating").workspace(&workspace<how, true>).capture_safe())
RESAMPLE(upsample_linear1d, aligned_line, kLinear, "floating");
RESAMPLE(upsample_bilinear2d, aligned_plane, kLinear, "floating,uint8");
RESAMPLE(upsample_trilinear3d, aligned_volume, kLinear, "floating");
RESAMPLE(upsample_bicubic2d, aligned_plane, kCubic, "floating,uint8");
RESAMPLE(_upsample_bilinear2d_aa, aligned_plane, kLinearWide, "floating,uint8");
RESAMPLE(_upsample_bicubic2d_aa, aligned_plane, kCubicWide, "floating,uint8");
RESAMPLE(upsample_nearest1d, line, kNearest, "floating,uint8");
RESAMPLE(upsample_nearest2d, plane, kNearest, "floating,uint8");
RESAMPLE(upsample_nearest3d, volume, kNearest, "floating,uint8");
RESAMPLE(_upsample_nearest_exact1d, line, kNearestExact, "floating,uint8");
RESAMPLE(_upsample_nearest_exact2d, plane, kNearestExact, "floating,uint8");
RESAMPLE(_upsample_nearest_exact3d, volume, kNearestExact, "floating,uint8");
#undef RESAMPLE

}  // namespace tenon::cuda
