// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pooling of images with channels innermost: windows of pixels, each a run of channels. Declines
// other layouts, which max_pool.cpp and avg_pool.cpp take. Overwritten: all outputs. NaN is the
// maximum, as there.
#include <type_traits>

#include "plugin_cpu/kernels/mean_window.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/channels_last_pool.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"
#include "plugin_cpu/simd/larger-inl.h"

#ifndef TENON_CHANNELS_LAST_POOL
#define TENON_CHANNELS_LAST_POOL
namespace tenon::cpu {

// Runs of fewer channels cost more than the copy to planes.
constexpr int64_t kFewChannels = 8, kChannelsAtOnce = 256, kMaxTaps = 255;

struct PixelPool {
  Pool shape;
  int64_t channels;
  int64_t lines(int64_t batch) const { return batch * shape.out[0] * shape.out[1]; }
};

// The place of a line of outputs.
struct Line {
  int64_t image, depth, row;
  Line(const Pool& p, int64_t i)
      : image(i / (p.out[0] * p.out[1])), depth(i / p.out[1] % p.out[0]), row(i % p.out[1]) {}
};

// The pixels of a plane that a window has, in order; none where all of it lies in the padding.
class TapPixels {
 public:
  TapPixels(const Pool& p, const Line& line, int64_t o) {
    const Taps td = taps_inside(p, 0, line.depth), th = taps_inside(p, 1, line.row),
               tw = taps_inside(p, 2, o);
    for (int64_t a = td.first; a < td.last; ++a) {
      const int64_t d = line.depth * p.stride[0] - p.pad[0] + a * p.dilation[0];
      for (int64_t b = th.first; b < th.last; ++b) {
        const int64_t h = line.row * p.stride[1] - p.pad[1] + b * p.dilation[1],
                      from = (d * p.in[1] + h) * p.in[2] + o * p.stride[2] - p.pad[2];
        for (int64_t c = tw.first; c < tw.last; ++c) at_[count_++] = from + c * p.dilation[2];
      }
    }
  }
  int64_t count() const { return count_; }
  int64_t at(int64_t i) const { return at_[i]; }

 private:
  int64_t at_[kMaxTaps];
  int64_t count_ = 0;
};

}  // namespace tenon::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class C>
using TapNumber = hwy::MakeUnsigned<C>;

// n channels of an output, a vector of them after the other; n is at least that of a vector, the
// last of which overlaps the one before. `which`, if wanted, are the numbers of the taps.
template <bool kWhere, class D, class T = hn::TFromD<D>>
HWY_INLINE void max_in_registers(D d, const T* x, int64_t channels, const TapPixels& taps,
                                 int64_t n, T* y, TapNumber<T>* which) {
  const hn::RebindToUnsigned<D> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t done = 0; done < n; done += lanes) {
    const int64_t i = std::min(done, n - lanes);
    auto best = hn::LoadU(d, x + taps.at(0) * channels + i);
    auto number = hn::Zero(du), chosen = number;
    for (int64_t t = 1; t < taps.count(); ++t) {
      const auto v = hn::LoadU(d, x + taps.at(t) * channels + i);
      const auto better = is_larger(d, v, best);
      best = hn::IfThenElse(better, v, best);
      if constexpr (kWhere) {
        number = hn::Add(number, hn::Set(du, 1));
        chosen = hn::IfThenElse(hn::RebindMask(du, better), number, chosen);
      }
    }
    hn::StoreU(best, d, y + i);
    if constexpr (kWhere) hn::StoreU(chosen, du, which + i);
  }
}

// Compares one tap of n channels with the largest of those before it, as above.
template <bool kWhere, class D, class C = hn::TFromD<D>>
HWY_INLINE void take_tap(D d, const C* pixel, TapNumber<C> number, int64_t n, C* best,
                         TapNumber<C>* which) {
  const hn::RebindToUnsigned<D> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto numbers = hn::Set(du, number);
  for (int64_t done = 0; done < n; done += lanes) {
    const int64_t i = std::min(done, n - lanes);
    const auto v = hn::LoadU(d, pixel + i), b = hn::LoadU(d, best + i);
    const auto better = is_larger(d, v, b);
    hn::StoreU(hn::IfThenElse(better, v, b), d, best + i);
    if constexpr (kWhere)
      hn::StoreU(hn::IfThenElse(hn::RebindMask(du, better), numbers, hn::LoadU(du, which + i)), du,
                 which + i);
  }
}

// f(vectors of which n channels fill at least one)
template <class C, class F>
HWY_INLINE void with_vectors(int64_t n, F f) {
  const hn::ScalableTag<C> whole;
  if (n >= static_cast<int64_t>(hn::Lanes(whole)))
    f(whole);
  else
    f(hn::CappedTag<C, kFewChannels>());
}

// The same of elements that are computed in another type, tap by tap.
template <bool kWhere, class T, class C = sdk::compute_t<T>>
void max_converted(const T* x, int64_t channels, const TapPixels& taps, int64_t n, T* y,
                   TapNumber<C>* which) {
  alignas(64) C best[kChannelsAtOnce], wide[kChannelsAtOnce];
  const auto read = [&](int64_t t, C* to) {
    const T* pixel = x + taps.at(t) * channels;
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<C>(pixel[i]);
  };
  read(0, best);
  if constexpr (kWhere) std::fill_n(which, n, TapNumber<C>(0));
  for (int64_t t = 1; t < taps.count(); ++t) {
    read(t, wide);
    with_vectors<C>(n, [&](auto d) HWY_ATTR {
      take_tap<kWhere>(d, wide, static_cast<TapNumber<C>>(t), n, best, which);
    });
  }
  for (int64_t i = 0; i < n; ++i) y[i] = T(best[i]);
}

// n channels of an output, at least kFewChannels and at most kChannelsAtOnce.
template <bool kWhere, class T>
void max_of_pixels(const T* x, int64_t channels, const TapPixels& taps, int64_t n, T* y,
                   int64_t* indices) {
  using C = sdk::compute_t<T>;
  alignas(64) TapNumber<C> which[kWhere ? kChannelsAtOnce : 1];
  if constexpr (std::is_same_v<C, T>) {
    with_vectors<C>(
        n, [&](auto d) HWY_ATTR { max_in_registers<kWhere>(d, x, channels, taps, n, y, which); });
  } else {
    max_converted<kWhere>(x, channels, taps, n, y, which);
  }
  if constexpr (kWhere)
    for (int64_t i = 0; i < n; ++i) indices[i] = taps.at(which[i]);
}

// `at` counts elements of the result.
template <bool kWhere, class T>
void max_line(const PixelPool& q, const Line& line, const T* x, T* y, int64_t* indices,
              int64_t at) {
  const Pool& p = q.shape;
  for (int64_t o = 0; o < p.out[2]; ++o, at += q.channels) {
    const TapPixels taps(p, line, o);
    if (taps.count() == 0) {
      std::fill_n(y + at, q.channels, T(kLowest<sdk::compute_t<T>>));
      if (kWhere) std::fill_n(indices + at, q.channels, 0);
      continue;
    }
    for (int64_t done = 0; done < q.channels; done += kChannelsAtOnce) {
      const int64_t c = std::min(done, q.channels - kFewChannels);
      max_of_pixels<kWhere>(x + c, q.channels, taps, std::min(kChannelsAtOnce, q.channels - c),
                            y + at + c, kWhere ? indices + at + c : nullptr);
    }
  }
}

// Without `indices` the values alone.
void max_lines(const PixelPool& q, sdk::DType dtype, const void* x, void* y, int64_t* indices,
               int64_t begin, int64_t end) {
  const Pool& p = q.shape;
  sdk::dispatch_number(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    for (int64_t i = begin; i < end; ++i) {
      const Line line(p, i);
      const T* image = static_cast<const T*>(x) + line.image * p.in_plane() * q.channels;
      (indices ? max_line<true, T> : max_line<false, T>)(q, line, image, static_cast<T*>(y),
                                                         indices, i * p.out[2] * q.channels);
    }
  });
}

template <class T, class C>
void add_pixels(const T* pixel, int64_t count, int64_t channels, int64_t n, C* sums) {
  for (; count > 0; --count, pixel += channels) {
    for (int64_t i = 0; i < n; ++i) sums[i] = static_cast<C>(sums[i] + static_cast<C>(pixel[i]));
  }
}

// n channels of an output, at most kChannelsAtOnce. Long lines are summed by themselves first:
// fewer roundings of a large sum.
template <class T>
void mean_of_pixels(const Pool& p, const T* x, int64_t channels, const Window& w, int64_t n, T* y) {
  using C = sum_t<T>;
  constexpr int64_t kLong = 16;
  const int64_t width = w.to[2] - w.from[2];
  alignas(64) C sums[kChannelsAtOnce] = {};
  for (int64_t d = w.from[0]; d < w.to[0]; ++d) {
    for (int64_t h = w.from[1]; h < w.to[1]; ++h) {
      const T* line = x + ((d * p.in[1] + h) * p.in[2] + w.from[2]) * channels;
      if (width < kLong) {
        add_pixels(line, width, channels, n, sums);
        continue;
      }
      C one[kChannelsAtOnce] = {};
      add_pixels(line, width, channels, n, one);
      for (int64_t i = 0; i < n; ++i) sums[i] = static_cast<C>(sums[i] + one[i]);
    }
  }
  for (int64_t i = 0; i < n; ++i) y[i] = mean_of<T>(sums[i], w.divisor);
}

// Without a divisor: of cells.
void mean_lines(const PixelPool& q, sdk::DType dtype, const Divisor* divisor, const void* x,
                void* y, int64_t begin, int64_t end) {
  const Pool& p = q.shape;
  sdk::dispatch_number(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    for (int64_t i = begin; i < end; ++i) {
      const Line line(p, i);
      const T* image = static_cast<const T*>(x) + line.image * p.in_plane() * q.channels;
      T* out = static_cast<T*>(y) + i * p.out[2] * q.channels;
      for (int64_t o = 0; o < p.out[2]; ++o, out += q.channels) {
        const int64_t place[3] = {line.depth, line.row, o};
        const Window w = divisor ? window(p, *divisor, place) : cell_window(p, place);
        for (int64_t c = 0; c < q.channels; c += kChannelsAtOnce)
          mean_of_pixels(p, image + c, q.channels, w, std::min(kChannelsAtOnce, q.channels - c),
                         out + c);
      }
    }
  });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/_adaptive_avg_pool2d.h"
#include "tenon/sdk/ops/_adaptive_avg_pool3d.h"
#include "tenon/sdk/ops/_max_pool2d.h"
#include "tenon/sdk/ops/avg_pool2d.h"
#include "tenon/sdk/ops/avg_pool3d.h"
#include "tenon/sdk/ops/max_pool2d_with_indices.h"
#include "tenon/sdk/ops/max_pool3d_with_indices.h"

namespace tenon::cpu {
TENON_EXPORT(max_lines);
TENON_EXPORT(mean_lines);
}  // namespace tenon::cpu

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

// Contiguous images [N, C, spatial...] whose pixels are runs of channels.
bool channels_last(Tensor t, int nd) {
  if (t.ndim() != nd + 2 || t.size(1) < kFewChannels || t.stride(1) != 1) return false;
  int64_t step = t.size(1);
  for (int d = nd + 1; d != 1; d = d == 2 ? 0 : d - 1) {
    if (d == 0) return t.size(0) == 1 || t.stride(0) == step;
    if (t.size(d) != 1 && t.stride(d) != step) return false;
    step *= t.size(d);
  }
  return false;
}

int64_t grain(const PixelPool& q, int64_t taps) {
  const int64_t work = q.channels * q.shape.out[2] * std::max<int64_t>(1, taps);
  return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, work));
}

// Without `indices`, which are in the order of `out`, the values alone.
tn_status max_pool(Tensor out, int64_t* indices, Tensor self, int nd, const Pool& p) {
  const int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
  if (!channels_last(self, nd) || !channels_last(out, nd) || p.kernel[0] > kMaxTaps ||
      p.kernel[1] > kMaxTaps || taps > kMaxTaps)
    return TN_DECLINED;
  const PixelPool q{p, self.size(1)};
  parallel_for(q.lines(self.size(0)), grain(q, taps), [&](int64_t begin, int64_t end) {
    TENON_DISPATCH(max_lines)
    (q, self.dtype(), self.data(), out.data(), indices, begin, end);
  });
  return TN_OK;
}

tn_status mean_pool(Tensor out, Tensor self, int nd, const Pool& p, const Divisor* divisor) {
  if (!channels_last(self, nd) || !channels_last(out, nd)) return TN_DECLINED;
  const PixelPool q{p, self.size(1)};
  const int64_t taps = p.in_plane() / std::max<int64_t>(1, p.out_plane());
  parallel_for(q.lines(self.size(0)), grain(q, taps), [&](int64_t begin, int64_t end) {
    TENON_DISPATCH(mean_lines)(q, self.dtype(), divisor, self.data(), out.data(), begin, end);
  });
  return TN_OK;
}

template <int kDims>
tn_status max_pool(Call&, Tensor out, Tensor indices, Tensor self, Ints kernel, Ints stride,
                   Ints pad, Ints dilation, bool) {
  if (!channels_last(indices, kDims)) return TN_DECLINED;
  return max_pool(out, indices.data<int64_t>(), self, kDims,
                  pool_windows(self, out, kDims, kernel, stride, pad, dilation));
}
tn_status max_values(Call&, Tensor out, Tensor self, Ints kernel, Ints stride, Ints pad,
                     Ints dilation, bool) {
  return max_pool(out, nullptr, self, 2, pool_windows(self, out, 2, kernel, stride, pad, dilation));
}
template <int kDims>
tn_status avg_pool(Call&, Tensor out, Tensor self, Ints kernel, Ints stride, Ints pad, bool,
                   bool include_pad, std::optional<int64_t> fixed) {
  const Divisor divisor{include_pad, fixed};
  return mean_pool(out, self, kDims, pool_windows(self, out, kDims, kernel, stride, pad, {}),
                   &divisor);
}
template <int kDims>
tn_status adaptive(Call&, Tensor out, Tensor self, Ints) {
  return mean_pool(out, self, kDims, pool_shape(self, out, kDims), nullptr);
}

}  // namespace

TN_KERNEL(max_pool2d_with_indices, max_pool<2>, dtypes("number").any_strides().priority(1));
TN_KERNEL(max_pool3d_with_indices, max_pool<3>, dtypes("number").any_strides().priority(1));
TN_KERNEL(_max_pool2d, max_values, dtypes("number").any_strides().priority(1));
TN_KERNEL(avg_pool2d, avg_pool<2>, dtypes("number").any_strides().priority(1));
TN_KERNEL(avg_pool3d, avg_pool<3>, dtypes("number").any_strides().priority(1));
TN_KERNEL(_adaptive_avg_pool2d, adaptive<2>, dtypes("floating").any_strides().priority(1));
TN_KERNEL(_adaptive_avg_pool3d, adaptive<3>, dtypes("floating").any_strides().priority(1));
#endif
