// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// float32 convolutions of images with few channels, by lines of outputs: a tile is some filters by
// some vectors of a line. The image is copied once, with its padding; with a stride the columns
// that one tap reads lie side by side, so that a tap of a vector of outputs is a vector.
#include "plugin_cpu/conv/lines.h"

#include <algorithm>

#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/conv/lines.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/gemm/panel-inl.h"
#include "plugin_cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;

// to[i] = line[first + i * step], zeros outside of the line.
void copy_columns(const float* line, int64_t size, int64_t first, int64_t step, int64_t n,
                  float* to) {
  const int64_t begin = std::clamp<int64_t>((step - 1 - first) / step, 0, n),
                end = std::clamp<int64_t>((size - first + step - 1) / step, begin, n);
  std::fill(to, to + begin, 0.0f);
  std::fill(to + end, to + n, 0.0f);
  int64_t i = begin;
  if (step == 2) {
    const D d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= end && first + 2 * (i + lanes) <= size; i += lanes) {
      hn::Vec<D> even, odd;
      hn::LoadInterleaved2(d, line + first + 2 * i, even, odd);
      hn::StoreU(even, d, to + i);
    }
  }
  for (; i < end; ++i) to[i] = line[first + i * step];
}

// Lines [begin, end) of all channels.
void pad_lines(const Conv& c, const float* x, float* to, int64_t begin, int64_t end) {
  const PaddedImage p(c);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t channel = i / p.lines, from = i % p.lines - c.pad[1];
    float* line = to + i * p.line;
    if (from < 0 || from >= c.in[1]) {
      std::fill_n(line, p.line, 0.0f);
      continue;
    }
    for (int64_t f = 0; f < c.stride[2]; ++f)
      copy_columns(x + channel * c.in_plane() + from * c.in[2], c.in[2], f - c.pad[2], c.stride[2],
                   p.columns, line + f * p.columns);
  }
}

// Filters by vectors: `taps` weights of each filter, and where each tap lies from `image` on.
struct LineTile {
  int64_t taps;
  const int64_t* at;
  const float *image, *weights;
  float* y;
  int64_t plane, columns;
};

template <int R, int NV>
HWY_INLINE void line_tile(const LineTile& t) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sum[R][NV];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t p = 0; p < t.taps; ++p) {
    const float* image = t.image + t.at[p];
    hn::Vec<D> x[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) x[v] = hn::LoadU(d, image + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const hn::Vec<D> w = hn::Set(d, t.weights[r * t.taps + p]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sum[r][v] = hn::MulAdd(w, x[v], sum[r][v]);
    }
  }
  const int64_t left = t.columns - (NV - 1) * lanes;  // in the last vector
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    float* y = t.y + r * t.plane;
#pragma GCC unroll 8
    for (int v = 0; v + 1 < NV; ++v) hn::StoreU(sum[r][v], d, y + v * lanes);
    if (left == lanes)
      hn::StoreU(sum[r][NV - 1], d, y + (NV - 1) * lanes);
    else
      store_first(sum[r][NV - 1], d, left, y + (NV - 1) * lanes);
  }
}

template <int NV>
HWY_NOINLINE void filters_of_line(int64_t filters, LineTile t) {
  constexpr int64_t kFilters = kRows;
  for (; filters >= kFilters; filters -= kFilters) {
    line_tile<kFilters, NV>(t);
    t.weights += kFilters * t.taps, t.y += kFilters * t.plane;
  }
  for (; filters >= 2; filters -= 2) {
    line_tile<2, NV>(t);
    t.weights += 2 * t.taps, t.y += 2 * t.plane;
  }
  if (filters > 0) line_tile<1, NV>(t);
}

// Lines [begin, end) of the outputs of all filters. `at`: of each weight of a filter, where its tap
// lies in the padded image.
void convolve_lines(const Conv& c, const float* image, const int64_t* at, const float* w,
                    const Finish& finish, int64_t begin, int64_t end) {
  const PaddedImage p(c);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(D())), width = c.out[2];
  LineTile t{c.channels * c.taps(), at, nullptr, w, nullptr, c.out_plane(), 0};
  for (int64_t h = begin; h < end; ++h) {
    for (int64_t j = 0; j < width; j += t.columns) {
      t.columns = std::min(kVecs * lanes, width - j);
      t.image = image + h * c.stride[1] * p.line + j;
      t.y = finish.y + h * width + j;
      switch ((t.columns + lanes - 1) / lanes) {
        case 4:
          filters_of_line<4>(c.filters, t);
          break;
        case 3:
          filters_of_line<3>(c.filters, t);
          break;
        case 2:
          filters_of_line<2>(c.filters, t);
          break;
        default:
          filters_of_line<1>(c.filters, t);
      }
    }
    finish.block(0, c.filters, h * width, (h + 1) * width);
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(pad_lines);
TENON_EXPORT(convolve_lines);

namespace {

constexpr int64_t kMaxTaps = 256, kMaxVector = 64;

bool pays(const Conv& c) {
  const bool plane = c.in[0] == 1 && c.out[0] == 1 && c.kernel[0] == 1 && c.pad[0] == 0;
  return plane && c.groups == 1 && c.channels <= 4 && c.channels * c.taps() <= kMaxTaps &&
         c.out[2] >= 16 && c.batch * c.work() > 65536;
}

}  // namespace

bool conv_forward_lines(const Conv& c, const float* x, const float* w, const Finish& finish) {
  if (!pays(c)) return false;
  const PaddedImage p(c);
  int64_t at[kMaxTaps], n = 0;
  for (int64_t channel = 0; channel < c.channels; ++channel) {
    for (int64_t i = 0; i < c.kernel[1]; ++i) {
      for (int64_t j = 0; j < c.kernel[2]; ++j) {
        const int64_t column = j * c.dilation[2];
        at[n++] = channel * p.channel + i * c.dilation[1] * p.line +
                  column % c.stride[2] * p.columns + column / c.stride[2];
      }
    }
  }
  struct Image;
  const int64_t lines = c.channels * p.lines, image = c.channels * c.in_plane(),
                grain = std::max<int64_t>(1, c.out[1] * kGemmSerial / 4 / c.work());
  each_product(c.batch, c.work(), [&](int64_t begin, int64_t stop) {
    // The last vector of the last line reads beyond it.
    const CallBuffer<Image> padded((c.channels * p.channel + kMaxVector) * 4);
    float* to = padded.as<float>();
    for (int64_t i = begin; i < stop; ++i) {
      sdk::parallel_for(lines, std::max<int64_t>(1, 16384 / p.line),
                        [&](int64_t from, int64_t end) {
                          TENON_DISPATCH(pad_lines)(c, x + i * image, to, from, end);
                        });
      const Finish own = finish.from(i * c.filters * c.out_plane());
      sdk::parallel_for(c.out[1], grain, [&](int64_t from, int64_t end) {
        TENON_DISPATCH(convolve_lines)(c, to, at, w, own, from, end);
      });
    }
  });
  return true;
}

}  // namespace tenon::cpu
#endif
