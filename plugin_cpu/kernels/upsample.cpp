// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling, one axis after the other: the lines that an output line is made of are blended first,
// then their elements. Overwritten: the output. 16-bit floats are computed in float, uint8 with
// integer weights.
#include <algorithm>
#include <vector>

#include "tenon/sdk/kernel.h"
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

namespace tenon::cpu {
namespace {

using namespace sdk;
using OptFloat = std::optional<double>;
constexpr int64_t kWork = 1 << 15;  // products per task

// Planes of up to three dimensions; those that are not there have one element.
template <class C>
struct Resampler {
  int64_t planes;
  ResampleAxis<C> depth, height, width;

  int64_t in_plane() const { return depth.in * height.in * width.in; }
  int64_t out_plane() const { return depth.out * height.out * width.out; }
  int64_t line_taps() const { return depth.taps * height.taps; }
  int64_t line_work() const { return width.in * line_taps() + width.out * width.taps; }
  // Whether output elements are elements of the input.
  bool copies_elements() const { return line_taps() * width.taps == 1; }

  // f(offset of an input line in its plane, weight) for the lines that output line (d, h) is made
  // of.
  template <class F>
  void lines(int64_t d, int64_t h, F&& f) const {
    for (int64_t i = d * depth.taps; i < (d + 1) * depth.taps; ++i) {
      for (int64_t k = h * height.taps; k < (h + 1) * height.taps; ++k) {
        const std::size_t di = static_cast<std::size_t>(i), hi = static_cast<std::size_t>(k);
        f((depth.index[di] * height.in + height.index[hi]) * width.in,
          depth.weight[di] * height.weight[hi]);
      }
    }
  }
};

template <class C>
Resampler<C> resampler(Tensor in, Tensor out, int nd, Resampling how, bool align_corners,
                       const OptFloat* scales) {
  Resampler<C> r;
  r.planes = in.size(0) * in.size(1);
  ResampleAxis<C>* const axes[] = {&r.depth, &r.height, &r.width};
  for (int d = 0; d < nd; ++d) {
    *axes[3 - nd + d] =
        resample_axis<C>(how, in.size(d + 2), out.size(d + 2), align_corners, scales[d]);
  }
  return r;
}

// Taps are a constant where there are few.
template <class F>
void with_taps(int64_t taps, F&& f) {
  if (taps == 1)
    f(std::integral_constant<int64_t, 1>{});
  else if (taps == 2)
    f(std::integral_constant<int64_t, 2>{});
  else if (taps == 4)
    f(std::integral_constant<int64_t, 4>{});
  else
    f(taps);
}

template <class T, class C>
void blend_lines(const Resampler<C>& r, const T* plane, int64_t d, int64_t h, C* sum) {
  bool first = true;
  r.lines(d, h, [&](int64_t at, C w) {
    const T* line = plane + at;
    if (first) {
      for (int64_t i = 0; i < r.width.in; ++i) sum[i] = w * static_cast<C>(line[i]);
    } else {
      for (int64_t i = 0; i < r.width.in; ++i) sum[i] += w * static_cast<C>(line[i]);
    }
    first = false;
  });
}

template <class T, class C>
void blend_elements(const ResampleAxis<C>& a, const C* line, T* out) {
  with_taps(a.taps, [&](auto taps) {
    for (int64_t o = 0; o < a.out; ++o) {
      const int64_t* index = a.index.data() + o * taps;
      const C* weight = a.weight.data() + o * taps;
      C sum = 0;
      for (int64_t t = 0; t < taps; ++t) sum += weight[t] * line[index[t]];
      out[o] = T(sum);
    }
  });
}

template <class T, class C>
void resample(const Resampler<C>& r, const T* x, T* y) {
  const int64_t lines = r.depth.out * r.height.out;
  parallel_for(r.planes * lines, std::max<int64_t>(1, kWork / r.line_work()),
               [&](int64_t begin, int64_t end) {
                 std::vector<C> sum(r.copies_elements() ? 0 : static_cast<std::size_t>(r.width.in));
                 for (int64_t n = begin; n < end; ++n) {
                   const T* plane = x + n / lines * r.in_plane();
                   T* out = y + n * r.width.out;
                   const int64_t d = n % lines / r.height.out, h = n % r.height.out;
                   if (!r.copies_elements()) {
                     blend_lines(r, plane, d, h, sum.data());
                     blend_elements(r.width, sum.data(), out);
                     continue;
                   }
                   r.lines(d, h, [&](int64_t at, C) {
                     for (int64_t o = 0; o < r.width.out; ++o)
                       out[o] = plane[at + r.width.index[static_cast<std::size_t>(o)]];
                   });
                 }
               });
}

template <class T, class C>
void scatter_elements(const ResampleAxis<C>& a, const T* grad, C* line) {
  std::fill(line, line + a.in, C(0));
  with_taps(a.taps, [&](auto taps) {
    for (int64_t o = 0; o < a.out; ++o) {
      const C g = static_cast<C>(grad[o]);
      for (int64_t t = 0; t < taps; ++t) {
        line[a.index[static_cast<std::size_t>(o * taps + t)]] +=
            a.weight[static_cast<std::size_t>(o * taps + t)] * g;
      }
    }
  });
}

template <class T, class C>
void scatter_gradient(const Resampler<C>& r, const T* dy, T* dx) {
  const int64_t lines = r.depth.out * r.height.out, n = r.in_plane();
  parallel_for(r.planes, std::max<int64_t>(1, kWork / (lines * r.line_work())),
               [&](int64_t begin, int64_t end) {
                 std::vector<C> line(static_cast<std::size_t>(r.width.in));
                 std::vector<C> sums(std::is_same_v<C, T> ? 0 : static_cast<std::size_t>(n));
                 for (int64_t p = begin; p < end; ++p) {
                   C* sum;
                   if constexpr (std::is_same_v<C, T>)
                     sum = dx + p * n;
                   else
                     sum = sums.data();
                   std::fill(sum, sum + n, C(0));
                   for (int64_t l = 0; l < lines; ++l) {
                     scatter_elements(r.width, dy + (p * lines + l) * r.width.out, line.data());
                     r.lines(l / r.height.out, l % r.height.out, [&](int64_t at, C w) {
                       for (int64_t i = 0; i < r.width.in; ++i)
                         sum[at + i] += w * line[static_cast<std::size_t>(i)];
                     });
                   }
                   if constexpr (!std::is_same_v<C, T>) {
                     for (int64_t i = 0; i < n; ++i) dx[p * n + i] = T(sum[i]);
                   }
                 }
               });
}

// Two passes in integers, along the width first; in between elements are uint8 again.
uint8_t byte_sum(const ByteAxis& a, int64_t o, const uint8_t* line, int64_t stride) {
  int32_t sum = a.bits > 0 ? 1 << (a.bits - 1) : 0;
  for (int64_t k = o * a.taps; k < (o + 1) * a.taps; ++k) {
    sum +=
        a.weight[static_cast<std::size_t>(k)] * line[a.index[static_cast<std::size_t>(k)] * stride];
  }
  return static_cast<uint8_t>(std::clamp(sum >> a.bits, 0, 255));
}

void resample_bytes(const Resampler<double>& r, const uint8_t* x, uint8_t* y) {
  const ByteAxis height = byte_axis(r.height), width = byte_axis(r.width);
  const int64_t work = r.height.in * width.out * width.taps + r.out_plane() * height.taps;
  parallel_for(r.planes, std::max<int64_t>(1, kWork / work), [&](int64_t begin, int64_t end) {
    std::vector<uint8_t> lines(static_cast<std::size_t>(height.in * width.out));
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t h = 0; h < height.in; ++h) {
        const uint8_t* line = x + p * r.in_plane() + h * width.in;
        for (int64_t o = 0; o < width.out; ++o)
          lines[static_cast<std::size_t>(h * width.out + o)] = byte_sum(width, o, line, 1);
      }
      for (int64_t o = 0; o < r.out_plane(); ++o) {
        y[p * r.out_plane() + o] =
            byte_sum(height, o / width.out, lines.data() + o % width.out, width.out);
      }
    }
  });
}

tn_status forward(Tensor out, Tensor self, Resampling how, bool align_corners,
                  std::initializer_list<OptFloat> scales) {
  if (out.numel() == 0) return TN_OK;
  const int nd = static_cast<int>(scales.size());
  if (self.dtype() == kUInt8) {
    const auto r = resampler<double>(self, out, nd, how, align_corners, scales.begin());
    const uint8_t* x = self.data<uint8_t>();
    r.copies_elements() ? resample(r, x, out.data<uint8_t>())
                        : resample_bytes(r, x, out.data<uint8_t>());
    return TN_OK;
  }
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    resample(resampler<compute_t<T>>(self, out, nd, how, align_corners, scales.begin()),
             self.data<T>(), out.data<T>());
  });
  return TN_OK;
}

tn_status backward(Tensor out, Tensor grad, Resampling how, bool align_corners,
                   std::initializer_list<OptFloat> scales) {
  if (out.numel() == 0) return TN_OK;
  const int nd = static_cast<int>(scales.size());
  dispatch_floating(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    scatter_gradient(resampler<compute_t<T>>(out, grad, nd, how, align_corners, scales.begin()),
                     grad.data<T>(), out.data<T>());
  });
  return TN_OK;
}

template <Resampling how>
tn_status aligned_line(Call&, Tensor out, Tensor self, Ints, bool align_corners, OptFloat w) {
  return forward(out, self, how, align_corners, {w});
}
template <Resampling how>
tn_status aligned_line_backward(Call&, Tensor out, Tensor grad, Ints, Ints, bool align_corners,
                                OptFloat w) {
  return backward(out, grad, how, align_corners, {w});
}
template <Resampling how>
tn_status aligned_plane(Call&, Tensor out, Tensor self, Ints, bool align_corners, OptFloat h,
                        OptFloat w) {
  return forward(out, self, how, align_corners, {h, w});
}
template <Resampling how>
tn_status aligned_plane_backward(Call&, Tensor out, Tensor grad, Ints, Ints, bool align_corners,
                                 OptFloat h, OptFloat w) {
  return backward(out, grad, how, align_corners, {h, w});
}
template <Resampling how>
tn_status aligned_volume(Call&, Tensor out, Tensor self, Ints, bool align_corners, OptFloat d,
                         OptFloat h, OptFloat w) {
  return forward(out, self, how, align_corners, {d, h, w});
}
template <Resampling how>
tn_status aligned_volume_backward(Call&, Tensor out, Tensor grad, Ints, Ints, bool align_corners,
                                  OptFloat d, OptFloat h, OptFloat w) {
  return backward(out, grad, how, align_corners, {d, h, w});
}
template <Resampling how>
tn_status line(Call&, Tensor out, Tensor self, Ints, OptFloat w) {
  return forward(out, self, how, false, {w});
}
template <Resampling how>
tn_status line_backward(Call&, Tensor out, Tensor grad, Ints, Ints, OptFloat w) {
  return backward(out, grad, how, false, {w});
}
template <Resampling how>
tn_status plane(Call&, Tensor out, Tensor self, Ints, OptFloat h, OptFloat w) {
  return forward(out, self, how, false, {h, w});
}
template <Resampling how>
tn_status plane_backward(Call&, Tensor out, Tensor grad, Ints, Ints, OptFloat h, OptFloat w) {
  return backward(out, grad, how, false, {h, w});
}
template <Resampling how>
tn_status volume(Call&, Tensor out, Tensor self, Ints, OptFloat d, OptFloat h, OptFloat w) {
  return forward(out, self, how, false, {d, h, w});
}
template <Resampling how>
tn_status volume_backward(Call&, Tensor out, Tensor grad, Ints, Ints, OptFloat d, OptFloat h,
                          OptFloat w) {
  return backward(out, grad, how, false, {d, h, w});
}

constexpr Resampling kNearest = Resampling::kNearest, kNearestExact = Resampling::kNearestExact,
                     kLinear = Resampling::kLinear, kCubic = Resampling::kCubic,
                     kLinearWide = Resampling::kLinearWide, kCubicWide = Resampling::kCubicWide;

}  // namespace

TN_KERNEL(upsample_linear1d, aligned_line<kLinear>, dtypes("floating"));
TN_KERNEL(upsample_linear1d_backward, aligned_line_backward<kLinear>, dtypes("floating"));
TN_KERNEL(upsample_bilinear2d, aligned_plane<kLinear>, dtypes("floating,uint8"));
TN_KERNEL(upsample_bilinear2d_backward, aligned_plane_backward<kLinear>, dtypes("floating"));
TN_KERNEL(upsample_trilinear3d, aligned_volume<kLinear>, dtypes("floating"));
TN_KERNEL(upsample_trilinear3d_backward, aligned_volume_backward<kLinear>, dtypes("floating"));
TN_KERNEL(upsample_bicubic2d, aligned_plane<kCubic>, dtypes("floating,uint8"));
TN_KERNEL(upsample_bicubic2d_backward, aligned_plane_backward<kCubic>, dtypes("floating"));
TN_KERNEL(_upsample_bilinear2d_aa, aligned_plane<kLinearWide>, dtypes("floating,uint8"));
TN_KERNEL(_upsample_bilinear2d_aa_backward, aligned_plane_backward<kLinearWide>,
          dtypes("floating"));
TN_KERNEL(_upsample_bicubic2d_aa, aligned_plane<kCubicWide>, dtypes("floating,uint8"));
TN_KERNEL(_upsample_bicubic2d_aa_backward, aligned_plane_backward<kCubicWide>, dtypes("floating"));
TN_KERNEL(upsample_nearest1d, line<kNearest>, dtypes("floating,uint8"));
TN_KERNEL(upsample_nearest1d_backward, line_backward<kNearest>, dtypes("floating"));
TN_KERNEL(upsample_nearest2d, plane<kNearest>, dtypes("floating,uint8"));
TN_KERNEL(upsample_nearest2d_backward, plane_backward<kNearest>, dtypes("floating"));
TN_KERNEL(upsample_nearest3d, volume<kNearest>, dtypes("floating,uint8"));
TN_KERNEL(upsample_nearest3d_backward, volume_backward<kNearest>, dtypes("floating"));
TN_KERNEL(_upsample_nearest_exact1d, line<kNearestExact>, dtypes("floating,uint8"));
TN_KERNEL(_upsample_nearest_exact1d_backward, line_backward<kNearestExact>, dtypes("floating"));
TN_KERNEL(_upsample_nearest_exact2d, plane<kNearestExact>, dtypes("floating,uint8"));
TN_KERNEL(_upsample_nearest_exact2d_backward, plane_backward<kNearestExact>, dtypes("floating"));
TN_KERNEL(_upsample_nearest_exact3d, volume<kNearestExact>, dtypes("floating,uint8"));
TN_KERNEL(_upsample_nearest_exact3d_backward, volume_backward<kNearestExact>, dtypes("floating"));

}  // namespace tenon::cpu
