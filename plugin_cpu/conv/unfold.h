// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Images as columns: row (channel, tap) by output position, and back. Private to convolutions,
// im2col and col2im.
#pragma once

#include <algorithm>
#include <type_traits>

#include "plugin_cpu/conv/conv.h"

namespace tenon::cpu {

// Calls f(at, line, shift) for each line of outputs: `at` is its offset in the columns, `line`
// where its pixels start
// (-1: in the padding), and output w reads pixel w * stride + shift of it.
template <class F>
void unfold(const Conv& c, int64_t channels, F&& f) {
  const int64_t plane = c.out_plane();
  int64_t row = 0;
  for (int64_t ch = 0; ch < channels; ++ch) {
    for (int64_t kd = 0; kd < c.kernel[0]; ++kd) {
      for (int64_t kh = 0; kh < c.kernel[1]; ++kh) {
        for (int64_t kw = 0; kw < c.kernel[2]; ++kw, ++row) {
          int64_t at = row * plane;
          for (int64_t od = 0; od < c.out[0]; ++od) {
            const int64_t d = od * c.stride[0] - c.pad[0] + kd * c.dilation[0];
            for (int64_t oh = 0; oh < c.out[1]; ++oh, at += c.out[2]) {
              const int64_t h = oh * c.stride[1] - c.pad[1] + kh * c.dilation[1];
              const bool inside = d >= 0 && d < c.in[0] && h >= 0 && h < c.in[1];
              const int64_t line = ((ch * c.in[0] + d) * c.in[1] + h) * c.in[2];
              f(at, inside ? line : -1, kw * c.dilation[2] - c.pad[2]);
            }
          }
        }
      }
    }
  }
}

template <class T>
void unfold_into(const Conv& c, int64_t channels, const T* x, T* columns) {
  unfold(c, channels, [&](int64_t at, int64_t line, int64_t shift) {
    for (int64_t ow = 0; ow < c.out[2]; ++ow) {
      const int64_t w = ow * c.stride[2] + shift;
      columns[at + ow] = line >= 0 && w >= 0 && w < c.in[2] ? x[line + w] : T(0);
    }
  });
}

template <class T>
void fold_into(const Conv& c, int64_t channels, const T* columns, T* x) {
  // Integers wrap.
  using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::common_type<T>>::type;
  std::fill(x, x + channels * c.in_plane(), T(0));
  unfold(c, channels, [&](int64_t at, int64_t line, int64_t shift) {
    if (line < 0) return;
    for (int64_t ow = 0; ow < c.out[2]; ++ow) {
      const int64_t w = ow * c.stride[2] + shift;
      if (w < 0 || w >= c.in[2]) continue;
      x[line + w] = static_cast<T>(static_cast<U>(x[line + w]) + static_cast<U>(columns[at + ow]));
    }
  });
}

}  // namespace tenon::cpu
