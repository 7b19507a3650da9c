// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samples at positions of a grid: the neighbors of a position by gather, their gradients by
// scatter.
#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

struct GridRules {
  int64_t mode, border;  // 0 linear, 1 nearest, 2 cubic; 0 zeros, 1 border, 2 reflection
  bool align_corners;
};

// Of a line's elements one for each position, and how its weight changes with the coordinate.
struct Neighbor {
  Tensor index, inside, weight, slope;
};

struct Place {
  Tensor at, slope;
};

Place clamp_place(const Place& p, int64_t size) {
  const Tensor zero = scalar_like(0, p.at), last = scalar_like(size - 1, p.at), low = p.at <= zero,
               high = p.at >= last;
  return {tenon::where(low, zero, tenon::where(high, last, p.at)),
          tenon::where(low.logical_or(high), zero, p.slope)};
}

// Mirrors at low and high, which are half of the integers given.
Place mirrored(const Place& p, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return {p.at * 0, p.slope * 0};
  const double low = static_cast<double>(twice_low) / 2,
               span = static_cast<double>(twice_high - twice_low) / 2;
  const Tensor from = (p.at - low).abs(), extra = from.fmod(span),
               even = (from / span).floor().fmod(2).eq(0);
  const Tensor slope = tenon::where(p.at < low, p.slope.neg(), p.slope);
  return {tenon::where(even, extra, span - extra) + low, tenon::where(even, slope, slope.neg())};
}

Place bounded_place(const Place& p, int64_t size, const GridRules& rules) {
  if (rules.border == 1) return clamp_place(p, size);
  if (rules.border != 2) return p;
  return clamp_place(
      rules.align_corners ? mirrored(p, 0, 2 * (size - 1)) : mirrored(p, -1, 2 * size - 1), size);
}

Neighbor neighbor(const Tensor& at, int64_t size, const Tensor& weight, const Tensor& slope) {
  const Tensor inside = (at >= 0).logical_and(at < static_cast<double>(size));
  return {tenon::where(inside, at, scalar_like(0, at)).to(kLong), inside, weight, slope};
}

// Cubic convolution: near is up to one element away, far between one and two.
constexpr double kCubic = -0.75;
Tensor near(const Tensor& x) { return ((x * (kCubic + 2) - (kCubic + 3)) * x) * x + 1; }
Tensor far(const Tensor& x) {
  return ((x * kCubic - 5 * kCubic) * x + 8 * kCubic) * x - 4 * kCubic;
}
Tensor near_slope(const Tensor& x) { return (x * (3 * (kCubic + 2)) - 2 * (kCubic + 3)) * x; }
Tensor far_slope(const Tensor& x) { return (x * (3 * kCubic) - 10 * kCubic) * x + 8 * kCubic; }

std::vector<Neighbor> neighbors(const Tensor& v, int64_t size, const GridRules& rules) {
  const double n = static_cast<double>(size);
  const Tensor at = rules.align_corners ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2;
  Place p{at, full(v.sizes(), rules.align_corners ? (n - 1) / 2 : n / 2, options_of(v))};
  if (rules.mode != 2) p = bounded_place(p, size, rules);
  const Tensor one = full(v.sizes(), 1, options_of(v)), none = one * 0;
  if (rules.mode == 1) return {neighbor(p.at.round(), size, one, none)};
  const Tensor low = p.at.floor(), t = p.at - low;
  if (rules.mode == 0) {
    return {neighbor(low, size, 1 - t, p.slope.neg()), neighbor(low + 1, size, t, p.slope)};
  }
  const Tensor weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  const Tensor slopes[] = {far_slope(t + 1), near_slope(t), near_slope(1 - t).neg(),
                           far_slope(2 - t).neg()};
  std::vector<Neighbor> out;
  for (int k = 0; k < 4; ++k) {
    const Place q = bounded_place({low + (k - 1), none}, size, rules);
    out.push_back(neighbor(q.at, size, weights[k], slopes[k] * p.slope));
  }
  return out;
}

// A neighbor in the plane or the volume; slopes one per dimension.
struct Sample {
  Tensor index, inside, weight;
  std::vector<Tensor> slopes;
};

struct Sampler {
  Tensor input, grid;  // [N, C, plane], [N, positions, dimensions]
  std::vector<int64_t> sizes;
  std::vector<Sample> samples;

  Sampler(const Tensor& in, const Tensor& g, const GridRules& rules) {
    const int64_t nd = in.dim() - 2, n = in.size(0);
    input = wide(in).flatten(2);
    grid = wide(g).reshape({n, -1, nd});
    for (int64_t d = 0; d < nd; ++d) {
      const int64_t size = in.size(d + 2);
      // Coordinates run from the last dimension to the first.
      const std::vector<Neighbor> line = neighbors(grid.select(-1, nd - 1 - d), size, rules);
      std::vector<Sample> more;
      for (const Neighbor& k : line) {
        if (d == 0) more.push_back({k.index, k.inside, k.weight, {k.slope}});
        for (const Sample& s : samples) more.push_back(joined_sample(s, k, size));
      }
      samples = std::move(more);
    }
  }
  static Sample joined_sample(const Sample& s, const Neighbor& k, int64_t size) {
    Sample out{s.index * size + k.index, s.inside.logical_and(k.inside), s.weight * k.weight, {}};
    for (const Tensor& slope : s.slopes) out.slopes.push_back(slope * k.weight);
    out.slopes.push_back(s.weight * k.slope);
    return out;
  }
  std::vector<int64_t> shape() const { return {input.size(0), input.size(1), grid.size(1)}; }
  Tensor values(const Sample& s) const {
    const Tensor x = input.gather(2, s.index.unsqueeze(1).expand(shape()));
    return tenon::where(s.inside.unsqueeze(1), x, scalar_like(0, x));
  }
  Tensor forward() const {
    Tensor sum = full(shape(), 0, options_of(input));
    for (const Sample& s : samples) sum = sum + values(s) * s.weight.unsqueeze(1);
    return sum;
  }
  Tensor grad_input(const Tensor& g) const {
    Tensor out = full(input.sizes(), 0, options_of(input));
    for (const Sample& s : samples) {
      const Tensor w = tenon::where(s.inside, s.weight, scalar_like(0, s.weight)),
                   part = g * w.unsqueeze(1);
      out = tenon::prim_scatter(out, 2, s.index.unsqueeze(1).expand(shape()), part, TN_SCATTER_ADD);
    }
    return out;
  }
  Tensor grad_grid(const Tensor& g) const {
    const std::size_t nd = static_cast<std::size_t>(grid.size(2));
    std::vector<Tensor> sums(nd);
    for (const Sample& s : samples) {
      const Tensor change = summed(g * values(s), {1}, false);
      for (std::size_t d = 0; d < nd; ++d) {
        Tensor& sum = sums[nd - 1 - d];
        sum = sum.defined() ? sum + change * s.slopes[d] : change * s.slopes[d];
      }
    }
    return tenon::stack(sums, -1);
  }
};

Tensor sampled(const Tensor& input, const Tensor& grid, const GridRules& rules) {
  std::vector<int64_t> sizes{input.size(0), input.size(1)};
  for (int64_t d = 1; d < grid.dim() - 1; ++d) sizes.push_back(grid.size(d));
  if (input.numel() == 0 || grid.numel() == 0) return zeros(sizes, options_of(input));
  return Sampler(input, grid, rules).forward().reshape(sizes);
}
Both sampled_backward(const Tensor& grad, const Tensor& input, const Tensor& grid,
                      const GridRules& rules, std::array<bool, 2> mask) {
  Both out;
  if (input.numel() == 0 || grid.numel() == 0) {
    if (mask[0]) std::get<0>(out) = zeros(input.sizes(), options_of(input));
    if (mask[1]) std::get<1>(out) = zeros(grid.sizes(), options_of(grid));
    return out;
  }
  const Sampler s(input, grid, rules);
  const Tensor g = wide(grad).flatten(2);
  if (mask[0]) std::get<0>(out) = s.grad_input(g).reshape(input.sizes());
  if (mask[1]) std::get<1>(out) = s.grad_grid(g).reshape(grid.sizes());
  return out;
}

}  // namespace

Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t mode, int64_t border,
                       bool align_corners) {
  return sampled(input, grid, {mode, border, align_corners});
}
Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t mode, int64_t border,
                       bool align_corners) {
  return sampled(input, grid, {mode, border, align_corners});
}
Both grid_sampler_2d_backward(const Tensor& grad, const Tensor& input, const Tensor& grid,
                              int64_t mode, int64_t border, bool align_corners,
                              std::array<bool, 2> mask) {
  return sampled_backward(grad, input, grid, {mode, border, align_corners}, mask);
}
Both grid_sampler_3d_backward(const Tensor& grad, const Tensor& input, const Tensor& grid,
                              int64_t mode, int64_t border, bool align_corners,
                              std::array<bool, 2> mask) {
  return sampled_backward(grad, input, grid, {mode, border, align_corners}, mask);
}

// The bits of a float taken apart; those too small for an exponent are made larger first.
Both frexp_Tensor(const Tensor& self) {
  const Tensor x = wide(self);
  const bool is_double = x.scalar_type() == kDouble;
  const int64_t bits = is_double ? 52 : 23, mask = is_double ? 0x7ff : 0xff,
                half = is_double ? 1022 : 126;
  const ScalarType t = is_double ? kLong : kInt;
  const Tensor small = (x.contiguous().view(t).bitwise_right_shift(bits).bitwise_and(mask)).eq(0);
  const Tensor larger =
      tenon::where(small, x * static_cast<double>(int64_t{1} << (bits + 1)), x).contiguous();
  const Tensor raw = larger.view(t), exponent = raw.bitwise_right_shift(bits).bitwise_and(mask);
  const Tensor mantissa =
      raw.bitwise_and(~(mask << bits)).bitwise_or(half << bits).view(x.scalar_type());
  const Tensor as_is = exponent.eq(mask).logical_or(x.eq(0));  // infinities, NaN and zeros
  const Tensor power = exponent - half - as(small, t) * (bits + 1);
  return {tenon::where(as_is, x, mantissa), tenon::where(as_is, scalar_like(0, power), power)};
}

}  // namespace tenon::decomp
