// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The windows and cells whose mean is taken, and what their sums are divided by.
#pragma once

#include <optional>

#include "plugin_cpu/kernels/pool.h"
#include "tenon/sdk/scalar_math.h"

namespace tenon::cpu {

// Elements [from[i], to[i]) of each dimension, and what their sum is divided by.
struct Window {
  int64_t from[3], to[3], divisor;
};

struct Divisor {
  bool include_pad;
  std::optional<int64_t> fixed;
};

// The product, saturated: kernels may be as large as the padding allows.
inline int64_t product(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

inline Window window(const Pool& p, const Divisor& divisor, const int64_t (&o)[3]) {
  Window w;
  int64_t padded = 1, inside = 1;
  for (int i = 0; i < 3; ++i) {
    const int64_t start = o[i] * p.stride[i] - p.pad[i],
                  end = std::min(start + p.kernel[i], p.in[i] + p.pad[i]);
    w.from[i] = std::max<int64_t>(0, start);
    w.to[i] = std::max(w.from[i], std::min(end, p.in[i]));
    padded = product(padded, end - start);
    inside *= w.to[i] - w.from[i];
  }
  w.divisor = divisor.fixed         ? *divisor.fixed
              : divisor.include_pad ? padded
                                    : std::max<int64_t>(1, inside);
  return w;
}

inline Window cell_window(const Pool& p, const int64_t (&o)[3]) {
  Window w;
  w.divisor = 1;
  for (int i = 0; i < 3; ++i) {
    const Taps t = cell(p, i, o[i]);
    w.from[i] = t.first;
    w.to[i] = t.last;
    w.divisor *= t.last - t.first;
  }
  return w;
}

// A mean fits its dtype, the sum of a window need not.
template <class T>
using sum_t = std::conditional_t<std::is_integral_v<T>, int64_t, sdk::compute_t<T>>;

// Integers divide as C++ does, towards zero.
template <class T, class C>
T mean_of(C sum, int64_t divisor) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<T>(sdk::math::div_trunc<int64_t>(sum, divisor));
  else
    return T(sum / static_cast<C>(divisor));
}

}  // namespace tenon::cpu
