// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling along one dimension: indices and weights of the input elements of each output element.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "hd.h"  // by its relative path: libtenon includes this file without the SDK's include folder

namespace tenon::sdk {

enum class Resampling { kNearest, kNearestExact, kLinear, kCubic, kLinearWide, kCubicWide };

namespace resample_detail {

// Clamps a position to an index. A scale given by the program may lead to any position, or to NaN.
TN_HD inline int64_t bounded(double at, int64_t low, int64_t high) {
  const double l = static_cast<double>(low), h = static_cast<double>(high);
  return at > l ? at < h ? static_cast<int64_t>(at) : high : low;
}

// Cubic convolution: near is up to one element away, far between one and two.
TN_HD inline double cubic_near(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
TN_HD inline double cubic_far(double x, double a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

TN_HD inline double tent(double x) { return std::fmax(0.0, 1 - std::fabs(x)); }
TN_HD inline double cubic_kernel(double x) {
  x = std::fabs(x);
  return x < 1 ? cubic_near(x, -0.5) : x < 2 ? cubic_far(x, -0.5) : 0;
}

}  // namespace resample_detail

// One axis: every output element is a sum of `taps` weighted input elements, whose indices do not
// decrease with the output index.
struct ResampleLine {
  Resampling how = Resampling::kNearest;
  bool align_corners = false;
  int64_t in = 1, out = 1, taps = 1;
  double step = 1;  // input elements per output element
  // In float, as in ATen, so that the same arguments select the same elements.
  float nearest_step = 1;

  ResampleLine() = default;
  ResampleLine(Resampling h, int64_t from, int64_t to, bool corners, std::optional<double> scale)
      : how(h), align_corners(corners), in(from), out(to) {
    const bool given = scale && *scale > 0;
    if (corners)
      step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    else
      step = given ? 1 / *scale : static_cast<double>(in) / static_cast<double>(out);
    nearest_step =
        given ? static_cast<float>(1 / *scale) : static_cast<float>(in) / static_cast<float>(out);
    if (how == Resampling::kLinear) taps = 2;
    if (how == Resampling::kCubic) taps = 4;
    if (is_wide()) taps = resample_detail::bounded(std::ceil(support()) * 2 + 1, 1, in);
  }

  // Computes the indices and weights of output element o; unused taps have weight 0.
  template <class I, class C>
  TN_HD void find(int64_t o, I* index, C* weight) const {
    switch (how) {
      case Resampling::kNearest:
      case Resampling::kNearestExact:
        index[0] = static_cast<I>(nearest(o));
        weight[0] = C(1);
        return;
      case Resampling::kLinear:
        return linear(static_cast<double>(o), index, weight);
      case Resampling::kCubic:
        return cubic(static_cast<double>(o), index, weight);
      default:
        return wide(static_cast<double>(o), index, weight);
    }
  }

 private:
  // Antialiased: the kernel is as wide as the step, if that is more than one element.
  bool is_wide() const { return how == Resampling::kLinearWide || how == Resampling::kCubicWide; }
  TN_HD double stretch() const { return std::fmax(1.0, step); }
  TN_HD double support() const { return (how == Resampling::kLinearWide ? 1 : 2) * stretch(); }
  TN_HD double kernel(double x) const {
    return how == Resampling::kLinearWide ? resample_detail::tent(x)
                                          : resample_detail::cubic_kernel(x);
  }

  TN_HD int64_t nearest(int64_t o) const {
    if (in == out) return o;
    if (out == 2 * in) return o / 2;
    const float at =
        (static_cast<float>(o) + (how == Resampling::kNearestExact ? 0.5F : 0.0F)) * nearest_step;
    return resample_detail::bounded(std::floor(at), 0, in - 1);
  }

  template <class I, class C>
  TN_HD void linear(double o, I* index, C* weight) const {
    double at = align_corners ? step * o : std::fmax(0.0, step * (o + 0.5) - 0.5);
    if (in == out) at = o;
    const int64_t low = resample_detail::bounded(at, 0, in - 1);
    const double part = std::fmin(1.0, at - static_cast<double>(low));
    index[0] = static_cast<I>(low);
    index[1] = static_cast<I>(low + 1 < in ? low + 1 : in - 1);
    weight[0] = static_cast<C>(1 - part);
    weight[1] = static_cast<C>(part);
  }

  template <class I, class C>
  TN_HD void cubic(double o, I* index, C* weight) const {
    namespace detail = resample_detail;
    const double at = align_corners ? step * o : step * (o + 0.5) - 0.5, low = std::floor(at),
                 t = at - low;
    const double w[4] = {detail::cubic_far(t + 1, -0.75), detail::cubic_near(t, -0.75),
                         detail::cubic_near(1 - t, -0.75), detail::cubic_far(2 - t, -0.75)};
    for (int k = 0; k < 4; ++k) {
      index[k] = static_cast<I>(detail::bounded(low - 1 + k, 0, in - 1));
      weight[k] = static_cast<C>(w[k]);
    }
  }

  // Weights add up to 1.
  template <class I, class C>
  TN_HD void wide(double o, I* index, C* weight) const {
    const double center = step * (o + 0.5);
    const int64_t first = resample_detail::bounded(center - support() + 0.5, 0, in),
                  last = resample_detail::bounded(center + support() + 0.5, 0, in);
    double sum = 0;
    for (int64_t i = first; i < last; ++i)
      sum += kernel((static_cast<double>(i) - center + 0.5) / stretch());
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t i = first + k;
      const double w = i < last && sum != 0
                           ? kernel((static_cast<double>(i) - center + 0.5) / stretch()) / sum
                           : 0;
      index[k] = static_cast<I>(i < in ? i : in - 1);
      weight[k] = static_cast<C>(w);
    }
  }
};

// ResampleLine as a table: element o is the sum over t of weight[o * taps + t] times element
// index[o * taps + t].
template <class C>
struct ResampleAxis {
  int64_t in = 1, out = 1, taps = 1;
  std::vector<int64_t> index{0};
  std::vector<C> weight{C(1)};
};

template <class C>
ResampleAxis<C> resample_axis(Resampling how, int64_t in, int64_t out, bool align_corners,
                              std::optional<double> scale) {
  const ResampleLine line(how, in, out, align_corners, scale);
  const std::size_t n = static_cast<std::size_t>(out * line.taps);
  ResampleAxis<C> a{in, out, line.taps, std::vector<int64_t>(n), std::vector<C>(n)};
  for (int64_t o = 0; o < out; ++o)
    line.find(o, a.index.data() + o * line.taps, a.weight.data() + o * line.taps);
  return a;
}

// Fixed-point weights in units of 2^-bits, with as many bits as int16 allows, and one tap per
// distinct element: results of uint8 are bitwise those of ATen.
struct ByteAxis {
  int64_t in = 1, out = 1, taps = 1;
  int bits = 0;
  std::vector<int64_t> index;
  std::vector<int32_t> weight;
};

inline ByteAxis byte_axis(const ResampleAxis<double>& a) {
  ByteAxis b{a.in,
             a.out,
             a.taps,
             0,
             std::vector<int64_t>(a.index.size()),
             std::vector<int32_t>(a.index.size())};
  std::vector<double> merged(a.weight.size());
  double max_weight = 0;
  for (int64_t o = 0; o < a.out; ++o) {
    const std::size_t first = static_cast<std::size_t>(o * a.taps);
    std::size_t to = first;
    for (std::size_t k = first; k < first + static_cast<std::size_t>(a.taps); ++k) {
      if (k > first && a.index[k] != b.index[to]) ++to;
      b.index[to] = a.index[k];
      merged[to] += a.weight[k];
      max_weight = std::max(max_weight, merged[to]);
    }
    for (std::size_t k = to + 1; k < first + static_cast<std::size_t>(a.taps); ++k)
      b.index[k] = b.index[to];
  }
  while (b.bits < 22 &&
         static_cast<int>(std::floor(0.5 + max_weight * (1 << (b.bits + 1)))) < 1 << 15)
    ++b.bits;
  for (std::size_t k = 0; k < merged.size(); ++k) {
    const double w = merged[k] * (1 << b.bits);
    b.weight[k] = static_cast<int32_t>(w < 0 ? w - 0.5 : w + 0.5);
  }
  return b;
}

}  // namespace tenon::sdk
