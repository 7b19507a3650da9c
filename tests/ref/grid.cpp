// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Borders and grids: where an element comes from, then its value or its share of the gradient.
#include <algorithm>

#include "number.h"
#include "sums.h"
#include "tenon/sdk/ops/grid_sampler_2d.h"
#include "tenon/sdk/ops/grid_sampler_2d_backward.h"
#include "tenon/sdk/ops/grid_sampler_3d.h"
#include "tenon/sdk/ops/grid_sampler_3d_backward.h"
#include "tenon/sdk/ops/reflection_pad1d.h"
#include "tenon/sdk/ops/reflection_pad1d_backward.h"
#include "tenon/sdk/ops/reflection_pad2d.h"
#include "tenon/sdk/ops/reflection_pad2d_backward.h"
#include "tenon/sdk/ops/reflection_pad3d.h"
#include "tenon/sdk/ops/reflection_pad3d_backward.h"
#include "tenon/sdk/ops/replication_pad1d.h"
#include "tenon/sdk/ops/replication_pad1d_backward.h"
#include "tenon/sdk/ops/replication_pad2d.h"
#include "tenon/sdk/ops/replication_pad2d_backward.h"
#include "tenon/sdk/ops/replication_pad3d.h"
#include "tenon/sdk/ops/replication_pad3d_backward.h"

namespace {

using namespace tenon::ref;

int64_t mirrored(int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }
int64_t repeated(int64_t i, int64_t n) { return std::min(std::max<int64_t>(i, 0), n - 1); }

using Source = int64_t (*)(int64_t, int64_t);

// The element of a tensor of these sizes that element o of the padded one repeats.
Index origin(Source source, const Index& o, Ints sizes, Ints padding) {
  Index from = o;
  for (int64_t k = 0; k < padding.size() / 2; ++k) {
    const int64_t d = sizes.size() - 1 - k;
    from[at(d)] = source(o[at(d)] - padding[2 * k], sizes[d]);
  }
  return from;
}

template <Source source>
tn_status pad(Call&, Tensor out, Tensor self, Ints padding) {
  each(out.sizes(),
       [&](const Index& o) { put(out, o, get(self, origin(source, o, self.sizes(), padding))); });
  return TN_OK;
}

template <Source source>
tn_status pad_backward(Call&, Tensor out, Tensor grad, Tensor, Ints padding) {
  Sums sums(out.sizes());
  each(grad.sizes(),
       [&](const Index& o) { sums[origin(source, o, out.sizes(), padding)] += get(grad, o); });
  sums.store(out);
  return TN_OK;
}

struct Grid {
  int64_t mode, border;
  bool align_corners;

  // The pixel, a fraction of one included, that a coordinate from -1 to 1 stands for.
  Real pixel(Real v, int64_t n) const {
    return align_corners ? (v + 1) / 2 * Real(n - 1) : ((v + 1) * Real(n) - 1) / 2;
  }
  Real bounded(Real x, int64_t n) const {
    const Real last = Real(n - 1);
    if (border == 0) return x;
    if (border == 2) {
      const Real low = align_corners ? 0 : -0.5L, span = align_corners ? last : Real(n);
      if (span == 0) return 0;
      const Real turn = std::fmod(std::abs(x - low), 2 * span);
      x = low + (turn > span ? 2 * span - turn : turn);
    }
    return std::min(std::max(x, Real(0)), last);
  }
};

// Keys' kernel with a = -3/4, and its slope.
Real keys(Real x) {
  constexpr Real a = -0.75L;
  x = std::abs(x);
  if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}
Real keys_slope(Real x) {
  constexpr Real a = -0.75L;
  const Real sign = x < 0 ? -1 : 1;
  x = std::abs(x);
  if (x < 1) return sign * (3 * (a + 2) * x * x - 2 * (a + 3) * x);
  return x < 2 ? sign * (3 * a * x * x - 10 * a * x + 8 * a) : 0;
}

// A neighbor, its weight, and how fast that changes with the coordinate.
struct Part {
  Real at, weight, slope;
};

std::vector<Part> parts(const Grid& g, Real coordinate, int64_t n) {
  const Real per_unit = (g.align_corners ? Real(n - 1) : Real(n)) / 2,
             free = g.pixel(coordinate, n);
  const Real x = g.mode == 2 ? free : g.bounded(free, n), low = std::floor(x);
  if (g.mode == 1) return {{std::nearbyint(x), 1, 0}};
  if (g.mode == 0) {
    // Bounds move a pixel along, back, or hold it where the border is.
    const Real little = 1e-9L, ahead = g.bounded(free + little, n),
               back = g.bounded(free - little, n);
    const Real pace = std::round((ahead - back) / (2 * little)) * per_unit;
    return {{low, 1 - (x - low), -pace}, {low + 1, x - low, pace}};
  }
  std::vector<Part> out;
  for (int k = -1; k <= 2; ++k) {
    out.push_back({g.bounded(low + k, n), keys(x - low - k), keys_slope(x - low - k) * per_unit});
  }
  return out;
}

struct Neighbor {
  Index position;  // in the input
  Real weight;
  std::vector<Real> slopes;  // by spatial dimension
};

// All neighbors inside of the input, for position o of the output.
std::vector<Neighbor> neighbors(const Grid& g, Tensor input, Tensor grid, const Index& o) {
  const int nd = input.ndim() - 2;
  Index place(o.begin() + 2, o.end());
  place.insert(place.begin(), o[0]);
  std::vector<std::vector<Part>> dims;
  Index counts;
  for (int d = 0; d < nd; ++d) {
    place.push_back(nd - 1 - d);
    dims.push_back(parts(g, get(grid, place), input.size(d + 2)));
    place.pop_back();
    counts.push_back(static_cast<int64_t>(dims.back().size()));
  }
  std::vector<Neighbor> out;
  each(Ints(counts.data(), nd), [&](const Index& k) {
    Neighbor n{{o[0], o[1]}, 1, std::vector<Real>(at(nd), 1)};
    for (int d = 0; d < nd; ++d) {
      const Part& p = dims[at(d)][at(k[at(d)])];
      if (!(p.at >= 0 && p.at < Real(input.size(d + 2)))) return;
      n.position.push_back(static_cast<int64_t>(p.at));
      n.weight *= p.weight;
      for (int e = 0; e < nd; ++e) n.slopes[at(e)] *= e == d ? p.slope : p.weight;
    }
    out.push_back(n);
  });
  return out;
}

tn_status sample(Call&, Tensor out, Tensor input, Tensor grid, int64_t mode, int64_t border,
                 bool align_corners) {
  each(out.sizes(), [&](const Index& o) {
    Real sum = 0;
    for (const Neighbor& n : neighbors({mode, border, align_corners}, input, grid, o)) {
      sum += n.weight * get(input, n.position);
    }
    put(out, o, sum);
  });
  return TN_OK;
}

tn_status sample_backward(Call&, Tensor grad_input, Tensor grad_grid, Tensor grad, Tensor input,
                          Tensor grid, int64_t mode, int64_t border, bool align_corners,
                          tenon::sdk::Bools) {
  Sums by_input(input.sizes()), by_grid(grid.sizes());
  each(grad.sizes(), [&](const Index& o) {
    const Real g = get(grad, o);
    Index place(o.begin() + 1, o.end());
    place[0] = o[0];
    place.push_back(0);
    for (const Neighbor& n : neighbors({mode, border, align_corners}, input, grid, o)) {
      by_input[n.position] += n.weight * g;
      for (std::size_t d = 0; d < n.slopes.size(); ++d) {
        place.back() = static_cast<int64_t>(n.slopes.size() - 1 - d);
        by_grid[place] += n.slopes[d] * g * get(input, n.position);
      }
    }
  });
  if (grad_input.defined()) by_input.store(grad_input);
  if (grad_grid.defined()) by_grid.store(grad_grid);
  return TN_OK;
}

}  // namespace

TN_KERNEL(grid_sampler_2d, sample, dtypes("floating").any_strides());
TN_KERNEL(grid_sampler_3d, sample, dtypes("floating").any_strides());
TN_KERNEL(grid_sampler_2d_backward, sample_backward, dtypes("floating").any_strides());
TN_KERNEL(grid_sampler_3d_backward, sample_backward, dtypes("floating").any_strides());
TN_KERNEL(reflection_pad1d, pad<mirrored>, dtypes("all").any_strides());
TN_KERNEL(reflection_pad1d_backward, pad_backward<mirrored>, dtypes("floating").any_strides());
TN_KERNEL(reflection_pad2d, pad<mirrored>, dtypes("all").any_strides());
TN_KERNEL(reflection_pad2d_backward, pad_backward<mirrored>, dtypes("floating").any_strides());
TN_KERNEL(reflection_pad3d, pad<mirrored>, dtypes("all").any_strides());
TN_KERNEL(reflection_pad3d_backward, pad_backward<mirrored>, dtypes("floating").any_strides());
TN_KERNEL(replication_pad1d, pad<repeated>, dtypes("all").any_strides());
TN_KERNEL(replication_pad1d_backward, pad_backward<repeated>, dtypes("floating").any_strides());
TN_KERNEL(replication_pad2d, pad<repeated>, dtypes("all").any_strides());
TN_KERNEL(replication_pad2d_backward, pad_backward<repeated>, dtypes("floating").any_strides());
TN_KERNEL(replication_pad3d, pad<repeated>, dtypes("all").any_strides());
TN_KERNEL(replication_pad3d_backward, pad_backward<repeated>, dtypes("floating").any_strides());
