// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which elements of a line make each element of its resampled line, and with what weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace tenon::sdk {

enum class Resampling { kNearest, kNearestExact, kLinear, kCubic, kLinearWide, kCubicWide };

// Element o is the sum over t of weight[o * taps + t] times element index[o * taps + t]; unused taps weigh 0.
template <class C>
struct ResampleAxis {
  int64_t in = 1, out = 1, taps = 1;
  std::vector<int64_t> index{0};
  std::vector<C> weight{C(1)};
};

namespace resample_detail {

// Input elements a step of the output goes.
inline double step(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  return scale && *scale > 0 ? 1 / *scale : static_cast<double>(in) / static_cast<double>(out);
}

// A position as an index. Scales of a program's own lead to any position, also to none.
inline int64_t bounded(double at, int64_t low, int64_t high) {
  const double l = static_cast<double>(low), h = static_cast<double>(high);
  return at > l ? at < h ? static_cast<int64_t>(at) : high : low;
}

// In float as ATen computes it, so that equal arguments choose equal elements.
inline int64_t nearest(int64_t o, int64_t in, int64_t out, bool exact, std::optional<double> scale) {
  if (in == out) return o;
  if (out == 2 * in) return o / 2;
  const float s =
      scale && *scale > 0 ? static_cast<float>(1 / *scale) : static_cast<float>(in) / static_cast<float>(out);
  const float at = (static_cast<float>(o) + (exact ? 0.5F : 0.0F)) * s;
  return bounded(std::floor(at), 0, in - 1);
}

// Cubic convolution: near is up to one element away, far between one and two.
inline double cubic_near(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
inline double cubic_far(double x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

inline double tent(double x) { return std::max(0.0, 1 - std::abs(x)); }
inline double cubic_kernel(double x) {
  x = std::abs(x);
  return x < 1 ? cubic_near(x, -0.5) : x < 2 ? cubic_far(x, -0.5) : 0;
}

template <class C>
void linear(ResampleAxis<C>& a, double scale, bool align_corners) {
  a.taps = 2;
  a.index.resize(static_cast<std::size_t>(2 * a.out));
  a.weight.resize(static_cast<std::size_t>(2 * a.out));
  for (int64_t o = 0; o < a.out; ++o) {
    const double x = static_cast<double>(o);
    double at = align_corners ? scale * x : std::max(0.0, scale * (x + 0.5) - 0.5);
    if (a.in == a.out) at = x;
    const int64_t low = bounded(at, 0, a.in - 1);
    const double part = std::min(1.0, at - static_cast<double>(low));
    const std::size_t k = static_cast<std::size_t>(2 * o);
    a.index[k] = low;
    a.index[k + 1] = std::min(low + 1, a.in - 1);
    a.weight[k] = static_cast<C>(1 - part);
    a.weight[k + 1] = static_cast<C>(part);
  }
}

template <class C>
void cubic(ResampleAxis<C>& a, double scale, bool align_corners) {
  a.taps = 4;
  a.index.resize(static_cast<std::size_t>(4 * a.out));
  a.weight.resize(static_cast<std::size_t>(4 * a.out));
  for (int64_t o = 0; o < a.out; ++o) {
    const double x = static_cast<double>(o), at = align_corners ? scale * x : scale * (x + 0.5) - 0.5;
    const double low = std::floor(at), t = at - low;
    const double w[4] = {cubic_far(t + 1, -0.75), cubic_near(t, -0.75), cubic_near(1 - t, -0.75),
                         cubic_far(2 - t, -0.75)};
    for (int64_t k = 0; k < 4; ++k) {
      const std::size_t i = static_cast<std::size_t>(4 * o + k);
      a.index[i] = bounded(low - 1 + static_cast<double>(k), 0, a.in - 1);
      a.weight[i] = static_cast<C>(w[k]);
    }
  }
}

// A kernel as wide as the step, if that is more than one element; weights add up to 1.
template <class C>
void wide(ResampleAxis<C>& a, double scale, double (*kernel)(double), double radius) {
  const double stretch = std::max(1.0, scale), support = radius * stretch;
  a.taps = bounded(std::ceil(support) * 2 + 1, 1, a.in);
  a.index.assign(static_cast<std::size_t>(a.taps * a.out), 0);
  a.weight.assign(static_cast<std::size_t>(a.taps * a.out), C(0));
  std::vector<double> w(static_cast<std::size_t>(a.taps));
  for (int64_t o = 0; o < a.out; ++o) {
    const double centre = scale * (static_cast<double>(o) + 0.5);
    const int64_t first = bounded(centre - support + 0.5, 0, a.in), last = bounded(centre + support + 0.5, 0, a.in);
    double sum = 0;
    for (int64_t i = first; i < last; ++i) {
      const double v = kernel((static_cast<double>(i) - centre + 0.5) / stretch);
      w[static_cast<std::size_t>(i - first)] = v;
      sum += v;
    }
    for (int64_t k = 0; k < a.taps; ++k) {
      const std::size_t at = static_cast<std::size_t>(o * a.taps + k);
      a.index[at] = std::min(first + k, a.in - 1);
      if (k < last - first) a.weight[at] = static_cast<C>(sum != 0 ? w[static_cast<std::size_t>(k)] / sum : 0);
    }
  }
}

}  // namespace resample_detail

template <class C>
ResampleAxis<C> resample_axis(Resampling how, int64_t in, int64_t out, bool align_corners,
                              std::optional<double> scale) {
  namespace detail = resample_detail;
  ResampleAxis<C> a;
  a.in = in;
  a.out = out;
  const double step = detail::step(in, out, align_corners, scale);
  switch (how) {
    case Resampling::kNearest:
    case Resampling::kNearestExact:
      a.index.resize(static_cast<std::size_t>(out));
      a.weight.assign(static_cast<std::size_t>(out), C(1));
      for (int64_t o = 0; o < out; ++o) {
        a.index[static_cast<std::size_t>(o)] = detail::nearest(o, in, out, how == Resampling::kNearestExact, scale);
      }
      break;
    case Resampling::kLinear:
      detail::linear(a, step, align_corners);
      break;
    case Resampling::kCubic:
      detail::cubic(a, step, align_corners);
      break;
    case Resampling::kLinearWide:
      detail::wide(a, step, &detail::tent, 1);
      break;
    case Resampling::kCubicWide:
      detail::wide(a, step, &detail::cubic_kernel, 2);
      break;
  }
  return a;
}

// Weights as whole numbers of 2^-bits, as many as 16 bits hold, and one tap for every different element: results of
// uint8 are those of ATen, bit for bit.
struct ByteAxis {
  int64_t in = 1, out = 1, taps = 1;
  int bits = 0;
  std::vector<int64_t> index;
  std::vector<int32_t> weight;
};

inline ByteAxis byte_axis(const ResampleAxis<double>& a) {
  ByteAxis b{a.in, a.out, a.taps, 0, std::vector<int64_t>(a.index.size()), std::vector<int32_t>(a.index.size())};
  std::vector<double> merged(a.weight.size());
  double most = 0;
  for (int64_t o = 0; o < a.out; ++o) {
    const std::size_t first = static_cast<std::size_t>(o * a.taps);
    std::size_t to = first;
    for (std::size_t k = first; k < first + static_cast<std::size_t>(a.taps); ++k) {
      if (k > first && a.index[k] != b.index[to]) ++to;
      b.index[to] = a.index[k];
      merged[to] += a.weight[k];
      most = std::max(most, merged[to]);
    }
    for (std::size_t k = to + 1; k < first + static_cast<std::size_t>(a.taps); ++k) b.index[k] = b.index[to];
  }
  while (b.bits < 22 && static_cast<int>(0.5 + most * (1 << (b.bits + 1))) < 1 << 15) ++b.bits;
  for (std::size_t k = 0; k < merged.size(); ++k) {
    const double w = merged[k] * (1 << b.bits);
    b.weight[k] = static_cast<int32_t>(w < 0 ? w - 0.5 : w + 0.5);
  }
  return b;
}

}  // namespace tenon::sdk
