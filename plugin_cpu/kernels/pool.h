// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Windows of pooling over up to three spatial dimensions, on row-major planes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "tenon/sdk/kernel.h"

namespace tenon::cpu {

struct Pool {
  int64_t planes;
  int64_t in[3], out[3];
  int64_t kernel[3], stride[3], pad[3], dilation[3];

  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  // Planes per task: about 16k elements or taps.
  int64_t grain() const {
    const int64_t taps = out_plane() * kernel[0] * kernel[1] * kernel[2];
    return std::max<int64_t>(1, 16384 / std::max<int64_t>({1, taps, in_plane()}));
  }
};

inline Pool pool_shape(sdk::Tensor x, sdk::Tensor y, int nd) {
  Pool p{};
  p.planes = 1;
  for (int d = 0; d < x.ndim() - nd; ++d) p.planes *= x.size(d);
  for (int i = 0; i < 3; ++i) {
    const int d = x.ndim() - 3 + i;
    const bool real = i >= 3 - nd;
    p.in[i] = real ? x.size(d) : 1;
    p.out[i] = real ? y.size(d) : 1;
    p.kernel[i] = p.stride[i] = p.dilation[i] = 1;
  }
  return p;
}

inline Pool pool_windows(sdk::Tensor x, sdk::Tensor y, int nd, sdk::Ints kernel, sdk::Ints stride,
                         sdk::Ints pad, sdk::Ints dilation) {
  Pool p = pool_shape(x, y, nd);
  for (int d = 0; d < nd; ++d) {
    const int i = 3 - nd + d;
    const auto item = [&](sdk::Ints v, int64_t none) {
      return v.empty() ? none : v[v.size() == 1 ? 0 : d];
    };
    p.kernel[i] = item(kernel, 1);
    p.stride[i] = item(stride, p.kernel[i]);
    p.pad[i] = item(pad, 0);
    p.dilation[i] = item(dilation, 1);
  }
  return p;
}

// The maximum of a window that lies in the padding.
template <class C>
constexpr C kLowest = std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                           : std::numeric_limits<C>::lowest();

// Taps [first, last) of a window whose positions lie inside of the input.
struct Taps {
  int64_t first, last;
};
inline Taps taps_inside(const Pool& p, int i, int64_t o) {
  const int64_t start = o * p.stride[i] - p.pad[i];
  const int64_t first = start < 0 ? (-start + p.dilation[i] - 1) / p.dilation[i] : 0;
  const int64_t room = p.in[i] - start;  // positions start + t * dilation < in
  const int64_t last =
      std::min(p.kernel[i], room > 0 ? (room + p.dilation[i] - 1) / p.dilation[i] : 0);
  return {first, std::max(first, last)};
}

// Outputs [first, last) of the innermost dimension for which tap `t` lies inside.
inline Taps outputs_inside(const Pool& p, int64_t t) {
  const int64_t shift = t * p.dilation[2] - p.pad[2], s = p.stride[2];
  const int64_t first = shift < 0 ? (-shift + s - 1) / s : 0;
  const int64_t room = p.in[2] - shift;
  const int64_t last = std::min(p.out[2], room > 0 ? (room + s - 1) / s : 0);
  return {first, std::max(first, last)};
}

// Cells of adaptive pooling: [floor(o * in / out), ceil((o + 1) * in / out)).
inline Taps cell(const Pool& p, int i, int64_t o) {
  return {o * p.in[i] / p.out[i], ((o + 1) * p.in[i] + p.out[i] - 1) / p.out[i]};
}

// Gradients of dx, plane by plane: add(q, sums) adds into the sums of plane q, which start at zero
// and have the type that T is computed in. A plane belongs to one task, so that its sums have one
// order.
template <class T, class F>
void sum_planes(const Pool& p, int64_t grain, T* dx, F&& add) {
  using C = sdk::compute_t<T>;
  const int64_t n = p.in_plane();
  sdk::parallel_for(p.planes, grain, [&](int64_t begin, int64_t end) {
    std::vector<C> wide(std::is_same_v<C, T> ? 0 : static_cast<std::size_t>(n));
    for (int64_t q = begin; q < end; ++q) {
      C* sums;
      if constexpr (std::is_same_v<C, T>)
        sums = dx + q * n;
      else
        sums = wide.data();
      std::fill(sums, sums + n, C(0));
      add(q, sums);
      if constexpr (!std::is_same_v<C, T>) {
        for (int64_t i = 0; i < n; ++i) dx[q * n + i] = T(sums[i]);
      }
    }
  });
}

}  // namespace tenon::cpu
