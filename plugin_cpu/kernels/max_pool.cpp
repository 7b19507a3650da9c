// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Largest elements of windows or cells, where they were, and the gradient. Overwritten: all
// outputs. NaN is the maximum, the last one of several; of equal elements the first is taken.
#include <vector>

#include "plugin_cpu/kernels/pool.h"
#include "plugin_cpu/memory/buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/max_pool.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <class T>
HWY_INLINE bool is_larger_or_nan(T v, T best) {
  if constexpr (std::is_floating_point_v<T>)
    return (v > best) | (v != v);
  else
    return v > best;
}

// What does not change from line to line: which outputs a tap reaches, and where each window
// starts.
struct Across {
  std::vector<Taps> reach;
  std::vector<int32_t> start;
  std::vector<int64_t> empty;  // windows that have only padding
  bool simple;                 // at its first tap, each
  bool whole;                  // no window reaches into the padding
  explicit Across(const Pool& p) : reach(static_cast<std::size_t>(p.kernel[2])) {
    for (int64_t t = 0; t < p.kernel[2]; ++t)
      reach[static_cast<std::size_t>(t)] = outputs_inside(p, t);
    simple = reach[0].first == 0 && reach[0].last == p.out[2];
    whole = simple && reach.back().last == p.out[2];
    for (int64_t o = 0; !simple && o < p.out[2]; ++o) {
      const Taps inside = taps_inside(p, 2, o);
      if (inside.first == inside.last) empty.push_back(o);
      const int64_t w = o * p.stride[2] - p.pad[2] + inside.first * p.dilation[2];
      start.push_back(static_cast<int32_t>(std::min(w, p.in[2] - 1)));
    }
  }
};

namespace hn = hwy::HWY_NAMESPACE;

// One tap of windows that are kStep apart, as far as whole vectors go; elements from `end` on may
// not be read. The first tap of all is the best one yet.
template <int kStep, bool kFirst, class D>
HWY_INLINE int64_t take_vectors(D d, const float* x, const float* end, int64_t from, int64_t i,
                                int64_t last, float* best, int32_t* where) {
  const hn::RebindToSigned<D> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto steps = hn::Mul(hn::Iota(di, 0), hn::Set(di, kStep));
  for (; i + lanes <= last && x + from + (i + lanes) * kStep <= end; i += lanes) {
    auto v = hn::Zero(d), skipped = v;
    if constexpr (kStep == 2)
      hn::LoadInterleaved2(d, x + from + i * kStep, v, skipped);
    else
      v = hn::LoadU(d, x + from + i);
    auto at = hn::Add(hn::Set(di, static_cast<int32_t>(from + i * kStep)), steps);
    if constexpr (!kFirst) {
      const auto b = hn::LoadU(d, best + i);
      const auto better = hn::Or(hn::Gt(v, b), hn::IsNaN(v));
      v = hn::IfThenElse(better, v, b);
      at = hn::IfThenElse(hn::RebindMask(di, better), at, hn::LoadU(di, where + i));
    }
    hn::StoreU(v, d, best + i);
    hn::StoreU(at, di, where + i);
  }
  return i;
}

// One tap of all windows of a line that it reaches.
template <int kStep, bool kFirst, class T, class C>
HWY_INLINE void add_tap(const T* x, const T* end, int64_t from, int64_t step, Taps o, C* best,
                        int32_t* where) {
  int64_t i = o.first;
  if constexpr (std::is_same_v<T, float> && kStep != 0) {
    i = take_vectors<kStep, kFirst>(hn::CappedTag<float, 16>(), x, end, from, i, o.last, best,
                                    where);
    i = take_vectors<kStep, kFirst>(hn::CappedTag<float, 8>(), x, end, from, i, o.last, best,
                                    where);
    i = take_vectors<kStep, kFirst>(hn::CappedTag<float, 4>(), x, end, from, i, o.last, best,
                                    where);
  }
  const int64_t s = kStep ? kStep : step;
  for (; i < o.last; ++i) {
    const C v = static_cast<C>(x[from + i * s]);
    const bool better = kFirst || is_larger_or_nan(v, best[i]);
    best[i] = better ? v : best[i];
    where[i] = better ? static_cast<int32_t>(from + i * s) : where[i];
  }
}

template <bool kFirst, class T, class C>
HWY_INLINE void add_tap_any_step(const T* x, const T* end, int64_t from, int64_t step, Taps o,
                                 C* best, int32_t* where) {
  if (step == 1)
    add_tap<1, kFirst>(x, end, from, step, o, best, where);
  else if (step == 2)
    add_tap<2, kFirst>(x, end, from, step, o, best, where);
  else
    add_tap<0, kFirst>(x, end, from, step, o, best, where);
}

// One line of outputs: starts at each window's first element, then takes one tap after the other
// for all of them.
template <class T, class C>
void max_line(const Pool& p, const Across& across, const T* x, const T* end, int64_t od, int64_t oh,
              C* best, int32_t* where) {
  const Taps td = taps_inside(p, 0, od), th = taps_inside(p, 1, oh);
  const int64_t n = p.out[2], s = p.stride[2];
  if (td.first == td.last || th.first == th.last) {  // every tap lies in the padding
    std::fill(best, best + n, kLowest<C>);
    std::fill(where, where + n, 0);
    return;
  }
  for (int64_t a = td.first; a < td.last; ++a) {
    const int64_t d = od * p.stride[0] - p.pad[0] + a * p.dilation[0];
    for (int64_t b = th.first; b < th.last; ++b) {
      const int64_t h = oh * p.stride[1] - p.pad[1] + b * p.dilation[1],
                    line = (d * p.in[1] + h) * p.in[2];
      if (a == td.first && b == th.first) {
        if (across.simple) {
          add_tap_any_step<true>(x, end, line, s, {0, n}, best, where);
        } else {
          for (int64_t o = 0; o < n; ++o) {
            where[o] = static_cast<int32_t>(line) + across.start[static_cast<std::size_t>(o)];
            best[o] = static_cast<C>(x[where[o]]);
          }
        }
      }
      for (int64_t t = a == td.first && b == th.first && across.simple ? 1 : 0; t < p.kernel[2];
           ++t) {
        const int64_t from = line + t * p.dilation[2] - p.pad[2];
        add_tap_any_step<false>(x, end, from, s, across.reach[static_cast<std::size_t>(t)], best,
                                where);
      }
    }
  }
  for (int64_t o : across.empty) {
    best[o] = kLowest<C>;
    where[o] = 0;
  }
}

#if HWY_TARGET != HWY_SCALAR
template <class D>
struct Best {
  hn::Vec<D> value;
  hn::Vec<hn::RebindToSigned<D>> where;
  HWY_INLINE void update(D d, hn::Vec<D> v, int64_t at) {
    const hn::RebindToSigned<D> di;
    const auto better = hn::Or(hn::Gt(v, value), hn::IsNaN(v));
    value = hn::IfThenElse(better, v, value);
    where =
        hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, static_cast<int32_t>(at)), where);
  }
  HWY_INLINE void store(D d, int64_t first, int64_t step, float* y, int64_t* indices) const {
    const hn::RebindToSigned<D> di;
    const hn::Half<decltype(di)> half;
    const hn::Rebind<int64_t, decltype(half)> wide;
    const auto lane = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(step)));
    const auto at = hn::Add(hn::Add(where, hn::Set(di, static_cast<int32_t>(first))), lane);
    hn::StoreU(value, d, y);
    hn::StoreU(hn::PromoteTo(wide, hn::LowerHalf(half, at)), wide, indices);
    hn::StoreU(hn::PromoteTo(wide, hn::UpperHalf(half, at)), wide, indices + hn::Lanes(wide));
  }
};

// A line whose windows lie inside of the plane, kStep apart: some windows at a time, all their taps
// in registers. The last vector overlaps windows that are already computed.
template <int kStep, class D>
void whole_line(D d, const Pool& p, const float* x, int64_t od, int64_t oh, Taps td, Taps th,
                float* y, int64_t* indices) {
  const int64_t n = p.out[2], lanes = static_cast<int64_t>(hn::Lanes(d)), taps = p.kernel[2],
                apart = p.dilation[2];
  const auto line = [&](int64_t a, int64_t b) {
    const int64_t plane = od * p.stride[0] - p.pad[0] + a * p.dilation[0];
    return (plane * p.in[1] + oh * p.stride[1] - p.pad[1] + b * p.dilation[1]) * p.in[2];
  };
  for (int64_t done = 0; done < n; done += lanes) {
    const int64_t o = std::min(done, n - lanes), start = line(td.first, th.first);
    Best<D> best;
    best.where = hn::Set(hn::RebindToSigned<D>(), static_cast<int32_t>(start));
    auto odd = hn::Zero(d);
    if constexpr (kStep == 2)
      hn::LoadInterleaved2(d, x + start + 2 * o, best.value, odd);
    else
      best.value = hn::LoadU(d, x + start + o);
    for (int64_t a = td.first; a < td.last; ++a) {
      for (int64_t b = th.first; b < th.last; ++b) {
        const int64_t from = line(a, b);
        if constexpr (kStep == 2) {
          auto even = hn::Zero(d);
          int64_t t = 0;
          for (; t + 2 <= taps; t += 2) {
            hn::LoadInterleaved2(d, x + from + t + 2 * o, even, odd);
            best.update(d, even, from + t);
            best.update(d, odd, from + t + 1);
          }
          if (t == taps) continue;
          hn::LoadInterleaved2(d, x + from + t - 1 + 2 * o, even,
                               odd);  // nothing after the last window
          best.update(d, odd, from + t);
        } else {
          for (int64_t t = 0; t < taps; ++t)
            best.update(d, hn::LoadU(d, x + from + t * apart + o), from + t * apart);
        }
      }
    }
    best.store(d, kStep * o, kStep, y + o, indices + o);
  }
}

// False: not such a line, or a short one.
template <class D>
bool try_whole_line(D d, const Pool& p, const Across& across, const float* x, int64_t od,
                    int64_t oh, float* y, int64_t* indices) {
  const Taps td = taps_inside(p, 0, od), th = taps_inside(p, 1, oh);
  if (!across.whole || p.out[2] < static_cast<int64_t>(hn::Lanes(d))) return false;
  if (td.first == td.last || th.first == th.last) return false;
  if (p.stride[2] == 1)
    whole_line<1>(d, p, x, od, oh, td, th, y, indices);
  else if (p.stride[2] == 2 && p.dilation[2] == 1 && p.kernel[2] > 1)
    whole_line<2>(d, p, x, od, oh, td, th, y, indices);
  else
    return false;
  return true;
}
#endif

template <class T>
void max_planes(const Pool& p, const T* x, T* y, int64_t* indices, int64_t begin, int64_t end) {
  using C = sdk::compute_t<T>;
  const Across across(p);
  const int64_t n = p.out[2];
  Buffer values(n * static_cast<int64_t>(sizeof(C))),
      places(n * static_cast<int64_t>(sizeof(int32_t)));
  C* best = values.as<C>();
  int32_t* where = places.as<int32_t>();
  for (int64_t q = begin; q < end; ++q) {
    const T* plane = x + q * p.in_plane();
    int64_t at = q * p.out_plane();
    for (int64_t d = 0; d < p.out[0]; ++d) {
      for (int64_t h = 0; h < p.out[1]; ++h, at += n) {
#if HWY_TARGET != HWY_SCALAR
        if constexpr (std::is_same_v<T, float>) {
          if (try_whole_line(hn::ScalableTag<float>(), p, across, plane, d, h, y + at,
                             indices + at) ||
              try_whole_line(hn::CappedTag<float, 4>(), p, across, plane, d, h, y + at,
                             indices + at))
            continue;
        }
#endif
        max_line<T, C>(p, across, plane, x + p.planes * p.in_plane(), d, h, best, where);
        for (int64_t i = 0; i < n; ++i) y[at + i] = T(best[i]);
        for (int64_t i = 0; i < n; ++i) indices[at + i] = where[i];
      }
    }
  }
}

void max_pool_planes(const Pool& p, sdk::DType dtype, const void* x, void* y, int64_t* indices,
                     int64_t begin, int64_t end) {
  sdk::dispatch_number(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    max_planes<T>(p, static_cast<const T*>(x), static_cast<T*>(y), indices, begin, end);
  });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/adaptive_max_pool2d.h"
#include "tenon/sdk/ops/adaptive_max_pool2d_backward.h"
#include "tenon/sdk/ops/adaptive_max_pool3d.h"
#include "tenon/sdk/ops/adaptive_max_pool3d_backward.h"
#include "tenon/sdk/ops/max_pool2d_with_indices.h"
#include "tenon/sdk/ops/max_pool2d_with_indices_backward.h"
#include "tenon/sdk/ops/max_pool3d_with_indices.h"
#include "tenon/sdk/ops/max_pool3d_with_indices_backward.h"

namespace tenon::cpu {
TENON_EXPORT(max_pool_planes);
}

namespace {

using namespace tenon::sdk;
using tenon::cpu::cell;
using tenon::cpu::Pool;
using tenon::cpu::pool_shape;
using tenon::cpu::pool_windows;
using tenon::cpu::sum_planes;
using tenon::cpu::Taps;

template <class T>
bool is_larger_or_nan(T v, T best) {
  if constexpr (std::is_floating_point_v<T>)
    return v > best || v != v;
  else
    return v > best;
}

template <class T>
void max_cells(const Pool& p, const T* x, T* y, int64_t* indices) {
  using C = compute_t<T>;
  parallel_for(p.planes, p.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      const T* plane = x + q * p.in_plane();
      int64_t at = q * p.out_plane();
      for (int64_t od = 0; od < p.out[0]; ++od) {
        const Taps td = cell(p, 0, od);
        for (int64_t oh = 0; oh < p.out[1]; ++oh) {
          const Taps th = cell(p, 1, oh);
          for (int64_t ow = 0; ow < p.out[2]; ++ow, ++at) {
            const Taps tw = cell(p, 2, ow);
            int64_t where = (td.first * p.in[1] + th.first) * p.in[2] + tw.first;
            C best = static_cast<C>(plane[where]);
            for (int64_t d = td.first; d < td.last; ++d) {
              for (int64_t h = th.first; h < th.last; ++h) {
                for (int64_t w = tw.first; w < tw.last; ++w) {
                  const int64_t from = (d * p.in[1] + h) * p.in[2] + w;
                  const C v = static_cast<C>(plane[from]);
                  if (is_larger_or_nan(v, best)) best = v, where = from;
                }
              }
            }
            y[at] = T(best);
            indices[at] = where;
          }
        }
      }
    }
  });
}

template <class T>
void scatter(const Pool& p, const T* dy, const int64_t* indices, T* dx) {
  using C = compute_t<T>;
  const int64_t n = p.in_plane(), m = p.out_plane();
  sum_planes(p, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, n + m)), dx,
             [&](int64_t q, C* sums) {
               for (int64_t i = q * m; i < (q + 1) * m; ++i) {
                 if (static_cast<uint64_t>(indices[i]) >= static_cast<uint64_t>(n)) {
                   throw Error(TN_ERROR_INDEX, "index ", indices[i],
                               " is out of bounds for a plane of ", n, " elements");
                 }
                 sums[indices[i]] = static_cast<C>(sums[indices[i]] + static_cast<C>(dy[i]));
               }
             });
}

tn_status pool(Tensor out, Tensor indices, Tensor self, const Pool& p) {
  if (out.numel() == 0) return TN_OK;
  if (p.in_plane() > INT32_MAX) {
    throw Error(TN_ERROR_UNSUPPORTED, "max_pool: a plane of ", p.in_plane(),
                " elements is too large");
  }
  parallel_for(p.planes, p.grain(), [&](int64_t begin, int64_t end) {
    using namespace tenon::cpu;
    TENON_DISPATCH(max_pool_planes)
    (p, self.dtype(), self.data(), out.data(), indices.data<int64_t>(), begin, end);
  });
  return TN_OK;
}

tn_status adaptive(Tensor out, Tensor indices, Tensor self, int nd) {
  if (out.numel() == 0) return TN_OK;
  const Pool p = pool_shape(self, out, nd);
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    max_cells<T>(p, self.data<T>(), out.data<T>(), indices.data<int64_t>());
  });
  return TN_OK;
}

tn_status backward(Tensor out, Tensor grad, Tensor indices, int nd) {
  const Pool p = pool_shape(out, grad, nd);
  if (out.numel() == 0) return TN_OK;
  dispatch_number(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    scatter<T>(p, grad.data<T>(), indices.data<int64_t>(), out.data<T>());
  });
  return TN_OK;
}

tn_status max_pool2d(Call&, Tensor out, Tensor indices, Tensor self, Ints kernel, Ints stride,
                     Ints pad, Ints dilation, bool) {
  return pool(out, indices, self, pool_windows(self, out, 2, kernel, stride, pad, dilation));
}
tn_status max_pool3d(Call&, Tensor out, Tensor indices, Tensor self, Ints kernel, Ints stride,
                     Ints pad, Ints dilation, bool) {
  return pool(out, indices, self, pool_windows(self, out, 3, kernel, stride, pad, dilation));
}
tn_status max_pool2d_backward(Call&, Tensor out, Tensor grad, Tensor, Ints, Ints, Ints, Ints, bool,
                              Tensor indices) {
  return backward(out, grad, indices, 2);
}
tn_status max_pool3d_backward(Call&, Tensor out, Tensor grad, Tensor, Ints, Ints, Ints, Ints, bool,
                              Tensor indices) {
  return backward(out, grad, indices, 3);
}
tn_status adaptive2d(Call&, Tensor out, Tensor indices, Tensor self, Ints) {
  return adaptive(out, indices, self, 2);
}
tn_status adaptive3d(Call&, Tensor out, Tensor indices, Tensor self, Ints) {
  return adaptive(out, indices, self, 3);
}
tn_status adaptive2d_backward(Call&, Tensor out, Tensor grad, Tensor, Tensor indices) {
  return backward(out, grad, indices, 2);
}
tn_status adaptive3d_backward(Call&, Tensor out, Tensor grad, Tensor, Tensor indices) {
  return backward(out, grad, indices, 3);
}

}  // namespace

TN_KERNEL(max_pool2d_with_indices, max_pool2d, dtypes("number"));
TN_KERNEL(max_pool3d_with_indices, max_pool3d, dtypes("number"));
TN_KERNEL(max_pool2d_with_indices_backward, max_pool2d_backward, dtypes("number"));
TN_KERNEL(max_pool3d_with_indices_backward, max_pool3d_backward, dtypes("number"));
TN_KERNEL(adaptive_max_pool2d, adaptive2d, dtypes("floating"));
TN_KERNEL(adaptive_max_pool3d, adaptive3d, dtypes("floating"));
TN_KERNEL(adaptive_max_pool2d_backward, adaptive2d_backward, dtypes("floating"));
TN_KERNEL(adaptive_max_pool3d_backward, adaptive3d_backward, dtypes("floating"));
#endif
