// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pooling over windows and over cells. A table says for each dimension which elements contribute to
// an output.
#include <algorithm>

#include "tenon/ops/decomp/decomp.h"
#include "tenon/ops/taps.h"

namespace tenon::decomp {
namespace {

int64_t entry_or(IntArrayRef v, std::size_t d, int64_t none) {
  return v.empty() ? none : v[v.size() == 1 ? 0 : d];
}

int64_t count_outputs(int64_t in, int64_t k, int64_t s, int64_t p, int64_t dilation,
                      bool ceil_mode) {
  const int64_t room = in + 2 * p - dilation * (k - 1) - 1 + (ceil_mode ? s - 1 : 0);
  const int64_t n = room / s + 1;
  return ceil_mode && (n - 1) * s >= in + p ? n - 1 : n;
}

// A window of one dimension; taps outside of the input weigh nothing, and stand for the nearest one
// inside.
Taps window_taps(int64_t in, int64_t out, int64_t k, int64_t s, int64_t p, int64_t dilation) {
  Taps t{in, out, k, {}, {}};
  for (int64_t o = 0; o < out; ++o) {
    const int64_t start = o * s - p;
    const int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const int64_t last = std::max(first, in - 1 - start >= 0 ? (in - 1 - start) / dilation : 0);
    for (int64_t i = 0; i < k; ++i) {
      t.index.push_back(
          std::clamp<int64_t>(start + std::clamp(i, first, last) * dilation, 0, in - 1));
      t.weight.push_back(i >= first && i <= last && start + i * dilation < in ? 1 : 0);
    }
  }
  return t;
}
Taps cell_taps(int64_t in, int64_t out) {
  Taps t{in, out, 1, {}, {}};
  const auto from = [&](int64_t o) { return o * in / out; };
  const auto to = [&](int64_t o) { return ((o + 1) * in + out - 1) / out; };
  for (int64_t o = 0; o < out; ++o) t.taps = std::max(t.taps, to(o) - from(o));
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < t.taps; ++i) {
      t.index.push_back(std::min(from(o) + i, to(o) - 1));
      t.weight.push_back(from(o) + i < to(o) ? 1 : 0);
    }
  }
  return t;
}

struct Pool {
  int64_t first;  // dimension that is pooled
  std::vector<Taps> taps;
};
Pool pool_windows(const Tensor& self, std::size_t nd, IntArrayRef kernel, IntArrayRef stride,
                  IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  Pool p{self.dim() - static_cast<int64_t>(nd), {}};
  for (std::size_t d = 0; d < nd; ++d) {
    const int64_t in = self.size(p.first + static_cast<int64_t>(d)), k = entry_or(kernel, d, 1),
                  s = entry_or(stride, d, k);
    const int64_t pad = entry_or(padding, d, 0), spread_by = entry_or(dilation, d, 1);
    p.taps.push_back(
        window_taps(in, count_outputs(in, k, s, pad, spread_by, ceil_mode), k, s, pad, spread_by));
  }
  return p;
}
Pool pool_cells(const Tensor& self, IntArrayRef output) {
  Pool p{self.dim() - static_cast<int64_t>(output.size()), {}};
  for (std::size_t d = 0; d < output.size(); ++d) {
    p.taps.push_back(cell_taps(self.size(p.first + static_cast<int64_t>(d)), output[d]));
  }
  return p;
}

std::vector<int64_t> pooled_sizes(const Tensor& self, const Pool& p) {
  std::vector<int64_t> sizes = self.sizes().vec();
  for (std::size_t d = 0; d < p.taps.size(); ++d)
    sizes[static_cast<std::size_t>(p.first) + d] = p.taps[d].out;
  return sizes;
}

// How many taps of each window lie inside, by dimension.
std::vector<std::vector<double>> count_inside(const Pool& p) {
  std::vector<std::vector<double>> out;
  for (const Taps& t : p.taps) {
    std::vector<double>& n = out.emplace_back(static_cast<std::size_t>(t.out));
    for (std::size_t i = 0; i < t.weight.size(); ++i)
      n[i / static_cast<std::size_t>(t.taps)] += t.weight[i];
  }
  return out;
}

// Which windows have nothing but padding; undefined: none.
Tensor find_empty_windows(const Pool& p, const Tensor& like) {
  Tensor all;
  const auto counts = count_inside(p);
  for (std::size_t d = 0; d < counts.size(); ++d) {
    if (!std::count(counts[d].begin(), counts[d].end(), 0)) continue;
    std::vector<int64_t> shape(counts.size(), 1);
    shape[d] = p.taps[d].out;
    const Tensor one = constants_like(counts[d], shape, like, kDouble).eq(0);
    all = all.defined() ? all.logical_or(one) : one;
  }
  return all;
}

// Of each line of taps the first largest, or the last NaN.
Tensor best_tap(const Tensor& x) {
  const Tensor largest = tenon::prim_reduce(x, -1, TN_REDUCE_ARGMAX);
  if (!isFloatingType(x.scalar_type())) return largest;
  const Tensor nan = x.isnan(),
               from_end = tenon::prim_reduce(as(nan.flip({-1}), kLong), -1, TN_REDUCE_ARGMAX);
  return tenon::where(nan.any(-1, true), x.size(-1) - 1 - from_end, largest);
}

// The largest element of each window, and its place in the plane.
Both max_pool(const Tensor& self, const Pool& p) {
  const std::vector<int64_t> sizes = pooled_sizes(self, p);
  if (std::count(sizes.begin(), sizes.end(), 0))
    return {empty(sizes, options_of(self)), empty(sizes, options_of(self, kLong))};
  const int64_t nd = static_cast<int64_t>(p.taps.size());
  Tensor x = self;
  std::vector<int64_t> split(self.sizes().begin(), self.sizes().begin() + p.first), order, outs;
  for (int64_t d = 0; d < p.first; ++d) order.push_back(d);
  for (int64_t d = 0; d < nd; ++d) {
    const Taps& t = p.taps[static_cast<std::size_t>(d)];
    x = gather_slices(x, p.first + d, constants_like(t.index, {t.out * t.taps}, self));
    split.insert(split.end(), {t.out, t.taps});
    order.push_back(p.first + 2 * d);
    outs.push_back(t.out);
  }
  for (int64_t d = 0; d < nd; ++d) order.push_back(p.first + 2 * d + 1);
  std::vector<int64_t> flat = sizes;
  flat.push_back(-1);
  x = x.reshape(split).permute(order).reshape(flat);
  const Tensor tap = best_tap(x), value = x.gather(-1, tap).squeeze(-1);
  Tensor rest = tap.squeeze(-1), place;
  int64_t stride = 1;
  for (int64_t d = nd; d-- > 0;) {
    const Taps& t = p.taps[static_cast<std::size_t>(d)];
    const Tensor own = rest.remainder(t.taps),
                 table = constants_like(t.index, {t.out * t.taps}, self);
    const Tensor start = index_like(positions(t.out, self) * t.taps, p.first + d, sizes);
    const Tensor at = table.gather(0, (own + start).reshape({-1})).reshape(sizes) * stride;
    place = place.defined() ? place + at : at;
    rest = tenon::floor_divide(rest, t.taps);
    stride *= t.in;
  }
  const Tensor none = find_empty_windows(p, self);
  if (!none.defined()) return {value, place};
  return {tenon::where(none, full({}, lowest(self.scalar_type()), options_of(self)), value),
          tenon::where(none, full({}, 0, options_of(place)), place)};
}

Tensor max_pool_backward(const Tensor& grad, const Tensor& self, const Tensor& indices,
                         int64_t nd) {
  const std::vector<int64_t> s = self.sizes().vec();
  int64_t plane = 1, places = 1;
  for (int64_t d = self.dim() - nd; d < self.dim(); ++d) {
    plane *= self.size(d);
    places *= grad.size(d);
  }
  const int64_t planes = plane == 0 ? 0 : self.numel() / plane;
  const Tensor g = wide(grad).reshape({planes, places});
  const Tensor none = full({planes, plane}, 0, options_of(g));
  return tenon::prim_scatter(none, 1, indices.reshape({planes, places}), g, TN_SCATTER_ADD)
      .reshape(self.sizes());
}

// What the sum of each window is divided by, shaped as the pooled dimensions are.
Tensor divisors(const Pool& p, const Tensor& like, ScalarType t,
                const std::vector<std::vector<double>>& counts) {
  Tensor out = full({}, 1, options_of(like, t));
  const std::size_t nd = p.taps.size();
  for (std::size_t d = 0; d < nd; ++d) {
    std::vector<int64_t> shape(nd, 1);
    shape[d] = p.taps[d].out;
    out = out * constants_like(counts[d], shape, like, t);
  }
  return out;
}

struct Average {
  IntArrayRef kernel, stride, padding;
  bool ceil_mode, include_pad;
  std::optional<int64_t> divisor;

  Pool windows_of(const Tensor& self) const {
    return pool_windows(self, kernel.size(), kernel, stride, padding, {}, ceil_mode);
  }
  // In a dtype that holds a window's sum, and what it is divided by.
  static Tensor summed(const Tensor& t) {
    return isFloatingType(t.scalar_type()) ? wide(t) : as(t, kLong);
  }
  Tensor divide(const Tensor& sum, const Pool& p) const {
    const bool whole = !isFloatingType(sum.scalar_type());
    const auto by = [&](const Tensor& n) { return whole ? _div_trunc(sum, n) : sum / n; };
    if (divisor) return by(scalar_like(*divisor, sum));
    std::vector<std::vector<double>> counts = count_inside(p);
    for (std::size_t d = 0; d < counts.size(); ++d) {
      for (std::size_t o = 0; o < counts[d].size(); ++o) {
        const int64_t k = entry_or(kernel, d, 1), s = entry_or(stride, d, k),
                      pad = entry_or(padding, d, 0);
        const int64_t start = static_cast<int64_t>(o) * s - pad;
        if (include_pad)
          counts[d][o] = static_cast<double>(std::min(start + k, p.taps[d].in + pad) - start);
        counts[d][o] = std::max(1.0, counts[d][o]);
      }
    }
    return by(divisors(p, sum, sum.scalar_type(), counts));
  }
  Tensor forward(const Tensor& self) const {
    const Pool p = windows_of(self);
    Tensor sum = summed(self);
    for (std::size_t d = 0; d < p.taps.size(); ++d) {
      sum = blended(sum, p.first + static_cast<int64_t>(d), p.taps[d], true);
    }
    return divide(sum, p);
  }
  Tensor backward(const Tensor& grad, const Tensor& self) const {
    const Pool p = windows_of(self);
    Tensor g = divide(summed(grad), p);
    for (std::size_t d = 0; d < p.taps.size(); ++d) {
      g = unblended(g, p.first + static_cast<int64_t>(d), p.taps[d]);
    }
    return g;
  }
};

Tensor adaptive_avg_pool(const Tensor& self, IntArrayRef output) {
  const Pool p = pool_cells(self, output);
  Tensor sum = wide(self);
  for (std::size_t d = 0; d < p.taps.size(); ++d) {
    sum = blended(sum, p.first + static_cast<int64_t>(d), p.taps[d], true);
  }
  return sum / divisors(p, sum, sum.scalar_type(), count_inside(p));
}
Tensor adaptive_avg_pool_backward(const Tensor& grad, const Tensor& self, int64_t nd) {
  const Pool p = pool_cells(self, grad.sizes().slice(static_cast<std::size_t>(grad.dim() - nd)));
  Tensor g = wide(grad) / divisors(p, grad, wide(grad.scalar_type()), count_inside(p));
  for (std::size_t d = 0; d < p.taps.size(); ++d)
    g = unblended(g, p.first + static_cast<int64_t>(d), p.taps[d]);
  return g;
}

}  // namespace

Both max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return max_pool(self, pool_windows(self, 2, kernel, stride, padding, dilation, ceil_mode));
}
Both max_pool3d_with_indices(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return max_pool(self, pool_windows(self, 3, kernel, stride, padding, dilation, ceil_mode));
}
Tensor _max_pool2d(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(
      tenon::max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode));
}
Tensor max_pool2d_with_indices_backward(const Tensor& grad, const Tensor& self, IntArrayRef,
                                        IntArrayRef, IntArrayRef, IntArrayRef, bool,
                                        const Tensor& indices) {
  return max_pool_backward(grad, self, indices, 2);
}
Tensor max_pool3d_with_indices_backward(const Tensor& grad, const Tensor& self, IntArrayRef,
                                        IntArrayRef, IntArrayRef, IntArrayRef, bool,
                                        const Tensor& indices) {
  return max_pool_backward(grad, self, indices, 3);
}
Both adaptive_max_pool2d(const Tensor& self, IntArrayRef output) {
  return max_pool(self, pool_cells(self, output));
}
Both adaptive_max_pool3d(const Tensor& self, IntArrayRef output) {
  return max_pool(self, pool_cells(self, output));
}
Tensor adaptive_max_pool2d_backward(const Tensor& grad, const Tensor& self, const Tensor& indices) {
  return max_pool_backward(grad, self, indices, 2);
}
Tensor adaptive_max_pool3d_backward(const Tensor& grad, const Tensor& self, const Tensor& indices) {
  return max_pool_backward(grad, self, indices, 3);
}

Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool include_pad, std::optional<int64_t> divisor) {
  const std::vector<int64_t> k{entry_or(kernel, 0, 1), entry_or(kernel, 1, 1)};
  return Average{k, stride, padding, ceil_mode, include_pad, divisor}.forward(self);
}
Tensor avg_pool3d(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool include_pad, std::optional<int64_t> divisor) {
  const std::vector<int64_t> k{entry_or(kernel, 0, 1), entry_or(kernel, 1, 1),
                               entry_or(kernel, 2, 1)};
  return Average{k, stride, padding, ceil_mode, include_pad, divisor}.forward(self);
}
Tensor avg_pool2d_backward(const Tensor& grad, const Tensor& self, IntArrayRef kernel,
                           IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                           bool include_pad, std::optional<int64_t> divisor) {
  const std::vector<int64_t> k{entry_or(kernel, 0, 1), entry_or(kernel, 1, 1)};
  return Average{k, stride, padding, ceil_mode, include_pad, divisor}.backward(grad, self);
}
Tensor avg_pool3d_backward(const Tensor& grad, const Tensor& self, IntArrayRef kernel,
                           IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                           bool include_pad, std::optional<int64_t> divisor) {
  const std::vector<int64_t> k{entry_or(kernel, 0, 1), entry_or(kernel, 1, 1),
                               entry_or(kernel, 2, 1)};
  return Average{k, stride, padding, ceil_mode, include_pad, divisor}.backward(grad, self);
}
Tensor _adaptive_avg_pool2d(const Tensor& self, IntArrayRef output) {
  return adaptive_avg_pool(self, output);
}
Tensor _adaptive_avg_pool3d(const Tensor& self, IntArrayRef output) {
  return adaptive_avg_pool(self, output);
}
Tensor _adaptive_avg_pool2d_backward(const Tensor& grad, const Tensor& self) {
  return adaptive_avg_pool_backward(grad, self, 2);
}
Tensor _adaptive_avg_pool3d_backward(const Tensor& grad, const Tensor& self) {
  return adaptive_avg_pool_backward(grad, self, 3);
}

}  // namespace tenon::decomp
