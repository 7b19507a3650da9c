// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samples of images and volumes at positions of a grid, and their gradients. Positions and weights
// are computed in double, 16-bit floats are summed in float. Overwritten: the outputs.
#include <vector>

#include "tenon/sdk/grid.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/grid_sampler_2d.h"
#include "tenon/sdk/ops/grid_sampler_2d_backward.h"
#include "tenon/sdk/ops/grid_sampler_3d.h"
#include "tenon/sdk/ops/grid_sampler_3d_backward.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

constexpr int kMaxTaps = 64;        // four along each of three dimensions
constexpr int64_t kBlock = 32;      // positions whose neighbors are kept at a time
constexpr int64_t kWork = 1 << 14;  // products per task

// The neighbors of a position in a plane: offsets are -1 outside.
template <class C>
struct Neighbors {
  int count;
  int64_t offset[kMaxTaps];
  C weight[kMaxTaps], slope[3][kMaxTaps];
};

struct Sampler {
  GridRules rules;
  int nd;
  int64_t batch, channels, in_plane = 1, points = 1, taps = 1;
  int64_t size[3];  // of the input's spatial dimensions

  Sampler(Tensor input, Tensor grid, int64_t mode, int64_t border, bool align_corners)
      : rules{mode, border, align_corners},
        nd(input.ndim() - 2),
        batch(input.size(0)),
        channels(input.size(1)) {
    for (int d = 0; d < nd; ++d) {
      size[d] = input.size(d + 2);
      in_plane *= size[d];
      points *= grid.size(d + 1);
      taps *= mode == 0 ? 2 : mode == 1 ? 1 : 4;
    }
  }

  // The coordinates of a position run from the last dimension to the first. Slopes only where they
  // are needed.
  template <bool slopes, class T, class C>
  void find(const T* position, Neighbors<C>& n) const {
    n.count = 1;
    n.offset[0] = 0;
    double weight[kMaxTaps], slope[3][kMaxTaps];
    weight[0] = 1;
    for (int e = 0; e < 3; ++e) slope[e][0] = 1;
    for (int d = 0; d < nd; ++d) {
      const GridTaps g = grid_taps(static_cast<double>(position[nd - 1 - d]), size[d], rules);
      // Entry k becomes one entry per tap; from the last on, so that none is overwritten before it
      // is read.
      for (int k = n.count - 1; k >= 0; --k) {
        for (int i = g.count - 1; i >= 0; --i) {
          const int to = k * g.count + i;
          if constexpr (slopes) {
            for (int e = 0; e < 3; ++e)
              slope[e][to] = slope[e][k] * (e == d ? g.slope[i] : g.weight[i]);
          }
          n.offset[to] =
              n.offset[k] < 0 || g.index[i] < 0 ? -1 : n.offset[k] * size[d] + g.index[i];
          weight[to] = weight[k] * g.weight[i];
        }
      }
      n.count *= g.count;
    }
    for (int k = 0; k < n.count; ++k) {
      n.weight[k] = static_cast<C>(weight[k]);
      if constexpr (slopes) {
        for (int e = 0; e < 3; ++e) n.slope[e][k] = static_cast<C>(slope[e][k]);
      }
    }
  }
};

// Neighbors of a block of positions, side by side.
template <class C>
struct Block {
  int64_t count;
  bool inside = true;  // all of them
  int64_t offset[kMaxTaps * kBlock];
  C weight[kMaxTaps * kBlock];

  template <class T>
  Block(const Sampler& s, const T* positions, int64_t n) : count(n) {
    Neighbors<C> p;
    for (int64_t i = 0; i < count; ++i) {
      s.find<false>(positions + i * s.nd, p);
      for (int k = 0; k < p.count; ++k) {
        offset[k * kBlock + i] = p.offset[k];
        weight[k * kBlock + i] = p.weight[k];
        inside = inside && p.offset[k] >= 0;
      }
    }
  }

  // `taps` is a constant for the common modes.
  template <class Taps, class T>
  void sum(Taps taps, const T* plane, T* to) const {
    for (int64_t i = 0; i < count; ++i) {
      C total = 0;
      for (int64_t k = 0; k < taps; ++k)
        total += weight[k * kBlock + i] * static_cast<C>(plane[offset[k * kBlock + i]]);
      to[i] = T(total);
    }
  }
  // Elements outside must not be read: a weight of 0 times NaN is not 0.
  template <class T>
  void sum_inside(int64_t taps, const T* plane, T* to) const {
    for (int64_t i = 0; i < count; ++i) {
      C total = 0;
      for (int64_t k = i; k < taps * kBlock; k += kBlock) {
        if (offset[k] >= 0) total += weight[k] * static_cast<C>(plane[offset[k]]);
      }
      to[i] = T(total);
    }
  }
};

template <class T>
void sample(const Sampler& s, const T* input, const T* grid, T* out) {
  const int64_t blocks = (s.points + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kWork / (kBlock * s.taps * s.channels));
  parallel_for(s.batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t n = b / blocks, first = b % blocks * kBlock;
      const T* positions = grid + (n * s.points + first) * s.nd;
      const Block<compute_t<T>> block(s, positions, std::min(kBlock, s.points - first));
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        const T* plane = input + c * s.in_plane;
        T* to = out + c * s.points + first;
        if (!block.inside)
          block.sum_inside(s.taps, plane, to);
        else if (s.taps == 4)
          block.sum(std::integral_constant<int64_t, 4>{}, plane, to);
        else
          block.sum(s.taps, plane, to);
      }
    }
  });
}

// A channel of an image belongs to one task.
template <class T>
void scatter_gradient(const Sampler& s, const T* grad, const T* grid, T* out) {
  using C = compute_t<T>;
  constexpr int64_t kChannels = 8;
  const int64_t groups = (s.channels + kChannels - 1) / kChannels;
  const int64_t grain = std::max<int64_t>(
      1, kWork / std::max<int64_t>(1, s.points * s.taps * std::min(s.channels, kChannels)));
  parallel_for(s.batch * groups, grain, [&](int64_t begin, int64_t end) {
    std::vector<C> sums;
    Neighbors<C> p;
    for (int64_t g = begin; g < end; ++g) {
      const int64_t n = g / groups, c0 = g % groups * kChannels,
                    count = std::min(kChannels, s.channels - c0);
      sums.assign(static_cast<std::size_t>(count * s.in_plane), C(0));
      const T* from = grad + (n * s.channels + c0) * s.points;
      for (int64_t i = 0; i < s.points; ++i) {
        s.find<false>(grid + (n * s.points + i) * s.nd, p);
        for (int64_t c = 0; c < count; ++c) {
          C* plane = sums.data() + c * s.in_plane;
          const C v = static_cast<C>(from[c * s.points + i]);
          for (int k = 0; k < p.count; ++k) {
            if (p.offset[k] >= 0) plane[p.offset[k]] += p.weight[k] * v;
          }
        }
      }
      T* to = out + (n * s.channels + c0) * s.in_plane;
      for (std::size_t i = 0; i < sums.size(); ++i) to[i] = T(sums[i]);
    }
  });
}

template <class T>
void slopes(const Sampler& s, const T* grad, const T* input, const T* grid, T* out) {
  using C = compute_t<T>;
  const int64_t grain = std::max<int64_t>(1, kWork / (s.taps * std::max<int64_t>(1, s.channels)));
  parallel_for(s.batch * s.points, grain, [&](int64_t begin, int64_t end) {
    Neighbors<C> p;
    for (int64_t at = begin; at < end; ++at) {
      const int64_t n = at / s.points, i = at % s.points;
      s.find<true>(grid + at * s.nd, p);
      C sum[3] = {};
      for (int k = 0; k < p.count; ++k) {
        if (p.offset[k] < 0) continue;
        C dot = 0;
        for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
          dot += static_cast<C>(grad[c * s.points + i]) *
                 static_cast<C>(input[c * s.in_plane + p.offset[k]]);
        }
        for (int d = 0; d < s.nd; ++d) sum[d] += dot * p.slope[d][k];
      }
      for (int d = 0; d < s.nd; ++d) out[at * s.nd + s.nd - 1 - d] = T(sum[d]);
    }
  });
}

tn_status forward(Call&, Tensor out, Tensor input, Tensor grid, int64_t mode, int64_t border,
                  bool align_corners) {
  if (out.numel() == 0) return TN_OK;
  const Sampler s(input, grid, mode, border, align_corners);
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    sample(s, input.data<T>(), grid.data<T>(), out.data<T>());
  });
  return TN_OK;
}

tn_status backward(Call&, Tensor grad_input, Tensor grad_grid, Tensor grad, Tensor input,
                   Tensor grid, int64_t mode, int64_t border, bool align_corners, Bools) {
  const Sampler s(input, grid, mode, border, align_corners);
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    if (grad_input.defined())
      scatter_gradient(s, grad.data<T>(), grid.data<T>(), grad_input.data<T>());
    if (grad_grid.defined())
      slopes(s, grad.data<T>(), input.data<T>(), grid.data<T>(), grad_grid.data<T>());
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(grid_sampler_2d, forward, dtypes("floating"));
TN_KERNEL(grid_sampler_3d, forward, dtypes("floating"));
TN_KERNEL(grid_sampler_2d_backward, backward, dtypes("floating"));
TN_KERNEL(grid_sampler_3d_backward, backward, dtypes("floating"));

}  // namespace tenon::cpu
