// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/grid.h"

#include "tenon/autograd.h"

namespace tenon::autograd::formulas {
namespace {

enum Mode : int64_t { kLinearMode, kNearestMode, kCubicMode };

// Where positions [N, P] fall on a line, and how fast they move there; both without history.
struct Place {
  Tensor at, slope;
};

Place clipped(const Place& p, int64_t size) {
  const Tensor inside = tenon::logical_and(p.at > 0, p.at < size - 1);
  return {tenon::clamp(p.at, 0, size - 1), tenon::where(inside, p.slope, 0)};
}

// Mirrors at both ends, which are half of the integers given.
Place reflected(const Place& p, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return {tenon::zeros_like(p.at), tenon::zeros_like(p.at)};
  const double low = static_cast<double>(twice_low) / 2,
               span = static_cast<double>(twice_high - twice_low) / 2;
  const Tensor from = (p.at - low).abs(), extra = tenon::fmod(from, span);
  const Tensor odd = tenon::fmod((from / span).floor(), 2) != 0;
  const Tensor slope = tenon::where(p.at < low, -p.slope, p.slope);
  return {tenon::where(odd, span - extra, extra) + low, tenon::where(odd, -slope, slope)};
}

Place bounded(const Place& p, int64_t size, int64_t border, bool align_corners) {
  if (border == 0) return p;
  if (border == 1) return clipped(p, size);
  return clipped(align_corners ? reflected(p, 0, 2 * (size - 1)) : reflected(p, -1, 2 * size - 1),
                 size);
}

// A neighbor in one dimension: `weight` and its derivative by the coordinate are functions of the
// coordinate.
struct Tap {
  Tensor index, inside, weight, slope;
};

Tap tap_at(const Tensor& at, int64_t size, const Tensor& weight, const Tensor& slope) {
  const Tensor inside = tenon::logical_and(at >= 0, at < size);
  return {tenon::where(inside, at, 0).to(kLong), inside, weight, slope};
}

std::vector<Tap> cubic_taps(const Tensor& at, double per_unit, int64_t size, int64_t border,
                            bool align_corners) {
  constexpr double a = -0.75;
  const auto near = [](const Tensor& x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](const Tensor& x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const auto near_slope = [](const Tensor& x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
  const auto far_slope = [](const Tensor& x) { return (3 * a * x - 10 * a) * x + 8 * a; };
  const Tensor low = at.detach().floor(), t = at - low;
  const Tensor weights[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  const Tensor slopes[4] = {far_slope(t + 1), near_slope(t), -near_slope(1 - t), -far_slope(2 - t)};
  std::vector<Tap> taps;
  for (int k = 0; k < 4; ++k) {
    const Place p = bounded({low + (k - 1), tenon::ones_like(low)}, size, border, align_corners);
    taps.push_back(tap_at(p.at.floor(), size, weights[k], slopes[k] * per_unit));
  }
  return taps;
}

std::vector<Tap> taps_of(const Tensor& coordinate, int64_t size, int64_t mode, int64_t border,
                         bool align_corners) {
  const double n = static_cast<double>(size), per_unit = align_corners ? (n - 1) / 2 : n / 2;
  const Tensor at = align_corners ? (coordinate + 1) * per_unit : (coordinate + 1) * per_unit - 0.5;
  if (mode == kCubicMode) return cubic_taps(at, per_unit, size, border, align_corners);
  const Place p =
      bounded({at.detach(), tenon::ones_like(at.detach())}, size, border, align_corners);
  if (mode == kNearestMode) {
    return {tap_at(p.at.round(), size, tenon::ones_like(p.at), tenon::zeros_like(p.at))};
  }
  const Tensor moved = p.slope * (at - at.detach()) + p.at, low = p.at.floor(), t = moved - low;
  const Tensor slope = p.slope * per_unit;
  return {tap_at(low, size, 1 - t, -slope), tap_at(low + 1, size, t, slope)};
}

// The sum over all combinations of one tap per dimension.
std::tuple<Tensor, Tensor> by_neighbors(const Tensor& grad, const Tensor& input, const Tensor& grid,
                                        const std::vector<std::vector<Tap>>& taps,
                                        std::array<bool, 2> mask) {
  const int64_t n = input.size(0), channels = input.size(1), nd = input.dim() - 2;
  const Tensor lines = input.flatten(2), g = grad.flatten(2);
  Tensor grad_lines = tenon::zeros_like(lines);
  std::vector<Tensor> slopes(static_cast<std::size_t>(nd),
                             tenon::zeros({n, g.size(2)}, grad.options()));
  std::size_t combinations = 1;
  for (const auto& t : taps) combinations *= t.size();
  for (std::size_t c = 0; c < combinations; ++c) {
    std::vector<const Tap*> chosen;
    std::size_t rest = c;
    for (const auto& t : taps) {
      chosen.push_back(&t[rest % t.size()]);
      rest /= t.size();
    }
    Tensor index = chosen[0]->index, inside = chosen[0]->inside, weight = chosen[0]->weight;
    for (std::size_t d = 1; d < chosen.size(); ++d) {
      index = index * input.size(static_cast<int64_t>(d) + 2) + chosen[d]->index;
      inside = tenon::logical_and(inside, chosen[d]->inside);
      weight = weight * chosen[d]->weight;
    }
    const Tensor at = index.unsqueeze(1).expand({n, channels, g.size(2)}),
                 there = inside.unsqueeze(1);
    if (mask[0])
      grad_lines = grad_lines.scatter_add(2, at, tenon::where(there, g * weight.unsqueeze(1), 0));
    if (!mask[1]) continue;
    const Tensor dot = tenon::where(there, g * lines.gather(2, at), 0).sum(1);
    for (std::size_t d = 0; d < chosen.size(); ++d) {
      Tensor slope = chosen[d]->slope;
      for (std::size_t e = 0; e < chosen.size(); ++e) {
        if (e != d) slope = slope * chosen[e]->weight;
      }
      slopes[d] = slopes[d] + dot * slope;
    }
  }
  const std::vector<Tensor> reversed(slopes.rbegin(), slopes.rend());
  return {mask[0] ? grad_lines.reshape(input.sizes()) : Tensor(),
          mask[1] ? tenon::stack(reversed, -1).reshape(grid.sizes()) : Tensor()};
}

}  // namespace

std::tuple<Tensor, Tensor> grid_sampler_gradients(const Tensor& grad, const Tensor& input,
                                                  const Tensor& grid, int64_t interpolation_mode,
                                                  int64_t padding_mode, bool align_corners,
                                                  std::array<bool, 2> mask) {
  const bool differentiated_again =
      GradMode::is_enabled() &&
      (grad.requires_grad() || input.requires_grad() || grid.requires_grad());
  if (!differentiated_again) {
    const auto backward =
        input.dim() == 4 ? &tenon::grid_sampler_2d_backward : &tenon::grid_sampler_3d_backward;
    return backward(grad, input, grid, interpolation_mode, padding_mode, align_corners, mask);
  }
  const int64_t nd = input.dim() - 2;
  std::vector<std::vector<Tap>> taps;
  for (int64_t d = 0; d < nd; ++d) {
    const Tensor coordinate = grid.select(-1, nd - 1 - d).flatten(1);
    taps.push_back(
        taps_of(coordinate, input.size(d + 2), interpolation_mode, padding_mode, align_corners));
  }
  return by_neighbors(grad, input, grid, taps, mask);
}

}  // namespace tenon::autograd::formulas
