// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The neighbors of a position between pixels, their weights, and the derivatives of these
// (grid_sample).
#pragma once

#include <cmath>
#include <cstdint>

#include "tenon/sdk/hd.h"

namespace tenon::sdk {

struct GridRules {
  int64_t mode, border;  // 0 linear, 1 nearest, 2 cubic; 0 zeros, 1 border, 2 reflection
  bool align_corners;
};

// One dimension: up to four neighbors; index -1 is out of bounds.
struct GridTaps {
  int count = 0;
  int64_t index[4];
  double weight[4], slope[4];
};

namespace grid_detail {

struct Position {
  double at, slope;  // slope: derivative by the coordinate
};

// Converts a coordinate from -1 to 1 to pixels.
TN_HD inline Position to_pixels(double v, int64_t size, bool align_corners) {
  const double n = static_cast<double>(size);
  return align_corners ? Position{(v + 1) / 2 * (n - 1), (n - 1) / 2}
                       : Position{((v + 1) * n - 1) / 2, n / 2};
}

TN_HD inline Position clip(Position p, int64_t size) {
  const double last = static_cast<double>(size - 1);
  if (p.at <= 0) return {0, 0};
  if (p.at >= last) return {last, 0};
  return p;
}

// Reflects at low and high, which are passed doubled.
TN_HD inline Position reflect(Position p, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return {0, 0};
  const double low = static_cast<double>(twice_low) / 2,
               span = static_cast<double>(twice_high - twice_low) / 2;
  double from = p.at - low, slope = p.slope;
  if (from < 0) from = -from, slope = -slope;
  const double extra = std::fmod(from, span);
  if (std::fmod(std::floor(from / span), 2) == 0) return {extra + low, slope};
  return {span - extra + low, -slope};
}

TN_HD inline Position apply_border(Position p, int64_t size, const GridRules& rules) {
  if (rules.border == 1) return clip(p, size);
  if (rules.border == 2) {
    p = rules.align_corners ? reflect(p, 0, 2 * (size - 1)) : reflect(p, -1, 2 * size - 1);
    return clip(p, size);
  }
  return p;
}

// The index of a position, or -1 if it is out of bounds or NaN.
TN_HD inline int64_t index_or_outside(double at, int64_t size) {
  return at >= 0 && at < static_cast<double>(size) ? static_cast<int64_t>(at) : -1;
}

TN_HD inline void set_cubic_taps(GridTaps& g, double t, double slope) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const auto near_slope = [](double x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
  const auto far_slope = [](double x) { return (3 * a * x - 10 * a) * x + 8 * a; };
  const double w[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  const double s[4] = {far_slope(t + 1), near_slope(t), -near_slope(1 - t), -far_slope(2 - t)};
  for (int k = 0; k < 4; ++k) {
    g.weight[k] = w[k];
    g.slope[k] = s[k] * slope;
  }
}

}  // namespace grid_detail

TN_HD inline GridTaps grid_taps(double coordinate, int64_t size, const GridRules& rules) {
  namespace detail = grid_detail;
  GridTaps g;
  detail::Position p = detail::to_pixels(coordinate, size, rules.align_corners);
  if (rules.mode != 2) p = detail::apply_border(p, size, rules);
  if (rules.mode == 1) {
    g.count = 1;
    g.index[0] = detail::index_or_outside(std::nearbyint(p.at), size);
    g.weight[0] = 1;
    g.slope[0] = 0;
    return g;
  }
  const double low = std::floor(p.at), t = p.at - low;
  if (rules.mode == 0) {
    g.count = 2;
    g.weight[0] = 1 - t, g.weight[1] = t;
    g.slope[0] = -p.slope, g.slope[1] = p.slope;
    for (int k = 0; k < 2; ++k) g.index[k] = detail::index_or_outside(low + k, size);
    if (t == 0 && p.slope == 0)
      g.index[1] = g.index[0];  // clipped to the last pixel, which has no right neighbor
    return g;
  }
  g.count = 4;
  detail::set_cubic_taps(g, t, p.slope);
  for (int k = 0; k < 4; ++k) {
    g.index[k] =
        detail::index_or_outside(detail::apply_border({low - 1 + k, 0}, size, rules).at, size);
  }
  return g;
}

}  // namespace tenon::sdk
