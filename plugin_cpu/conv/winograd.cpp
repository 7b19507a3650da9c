// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// 3x3 convolutions of stride 1 by Winograd's minimal filtering, F(4x4, 3x3): each tile of 4x4
// outputs takes 36 products per channel instead of 144. S. Winograd, Arithmetic Complexity of
// Computations (1980); A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks (2016).
// The interpolation points 0, +-1/sqrt 2, +-sqrt 2 and infinity keep the error within about twice
// that of a direct sum (with 0, +-1, +-2 it is eight times). A value that is not finite makes the
// outputs of its tiles NaN.
//   1. inputs:  V[36][channels][tiles], vectors over tiles
//   2. product: M[36][tiles][filters] = V^T U, one per position, U[36] packed once
//   3. outputs: vectors over filters, transposed on their way into the planes
#include "plugin_cpu/conv/winograd.h"

#include <algorithm>
#include <cmath>

#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/conv/winograd.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

using DD = hn::ScalableTag<double>;
using DV = hn::Vec<DD>;

constexpr int kOut = 4, kIn = 6;
constexpr int64_t kLine = 16;  // floats of a cache line
constexpr float kA = 0.70710678118654752440f, kB = 1.41421356237309504880f;  // the points

// Tiles are numbered over the whole batch: image, line of tiles, tile.
struct Tiling {
  int64_t across, down, per_image, count;
  explicit Tiling(const Conv& c)
      : across((c.out[2] + kOut - 1) / kOut),
        down((c.out[1] + kOut - 1) / kOut),
        per_image(across * down),
        count(c.batch * per_image) {}
};

HWY_INLINE void transform_6(const V (&d)[kIn], V (&t)[kIn]) {
  const D tag;
  const V a = hn::Set(tag, kA), b = hn::Set(tag, kB), five = hn::Set(tag, -2.5f);
  const V even1 = hn::MulAdd(hn::Set(tag, -2.0f), d[2], d[4]),
          odd1 = hn::MulSub(a, d[3], hn::Mul(b, d[1]));
  const V even2 = hn::MulAdd(hn::Set(tag, -0.5f), d[2], d[4]),
          odd2 = hn::MulSub(b, d[3], hn::Mul(a, d[1]));
  t[0] = hn::MulAdd(five, d[2], hn::Add(d[0], d[4]));
  t[1] = hn::Add(even1, odd1);
  t[2] = hn::Sub(even1, odd1);
  t[3] = hn::Add(even2, odd2);
  t[4] = hn::Sub(even2, odd2);
  t[5] = hn::MulAdd(five, d[3], hn::Add(d[1], d[5]));
}

HWY_INLINE void transform_4(const V (&m)[kIn], V (&y)[kOut]) {
  const D tag;
  const V sum1 = hn::Add(m[1], m[2]), sum2 = hn::Add(m[3], m[4]);
  const V difference1 = hn::Sub(m[1], m[2]), difference2 = hn::Sub(m[3], m[4]);
  y[0] = hn::Add(m[0], hn::Add(sum1, sum2));
  y[1] = hn::MulAdd(hn::Set(tag, kA), difference1, hn::Mul(hn::Set(tag, kB), difference2));
  y[2] = hn::MulAdd(hn::Set(tag, 0.5f), sum1, hn::Add(sum2, sum2));
  y[3] = hn::MulAdd(hn::Set(tag, kA / 2), difference1,
                    hn::MulAdd(hn::Set(tag, 2 * kB), difference2, m[5]));
}

// What the tiles of a block read of a channel, by line: `low` has columns 0 to 3 of each tile, side
// by side, `high` has columns 4 to 7.
struct Lines {
  float *low, *high;
  int64_t width;  // floats per line

  void fill(const Conv& c, const Tiling& tiling, const WinogradBlock& b, int64_t channel,
            const float* x) {
    for (int64_t at = 0; at < b.count;) {
      const int64_t tile = b.first + at, image = tile / tiling.per_image,
                    in_image = tile % tiling.per_image, ty = in_image / tiling.across,
                    tx = in_image % tiling.across;
      const int64_t run = std::min(b.count - at, tiling.across - tx);  // tiles of one line
      const float* plane = x + (image * c.channels + channel) * c.in_plane();
      for (int i = 0; i < kIn; ++i) {
        const int64_t h = ty * kOut - c.pad[1] + i, left = tx * kOut - c.pad[2];
        const float* from = h >= 0 && h < c.in[1] ? plane + h * c.in[2] : nullptr;
        copy(from, left, c.in[2], low + i * width + at * kOut, run * kOut);
        copy(from, left + kOut, c.in[2], high + i * width + at * kOut, run * kOut);
      }
      at += run;
    }
  }
  // Elements [begin, begin + n) of a line of `size`; zeros outside of it.
  static void copy(const float* line, int64_t begin, int64_t size, float* to, int64_t n) {
    const int64_t from = line ? std::clamp<int64_t>(-begin, 0, n) : n,
                  end = line ? std::clamp<int64_t>(size - begin, from, n) : n;
    std::fill(to, to + from, 0.0f);
    if (line) std::copy(line + begin + from, line + begin + end, to + from);
    std::fill(to + end, to + n, 0.0f);
  }
};

// V of channels [begin, end).
void transform_inputs(const Conv& c, const WinogradBlock& b, const float* x, float* v,
                      int64_t begin, int64_t end) {
  const D d;
  const Tiling tiling(c);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), width = b.stride * kOut,
                position = c.channels * b.stride;
  struct Inputs;
  float* memory = static_cast<float*>(ThreadBuffer<Inputs>::get(2 * kIn * width * 4));
  std::fill(memory, memory + 2 * kIn * width, 0.0f);
  Lines lines{memory, memory + kIn * width, width};
  for (int64_t channel = begin; channel < end; ++channel) {
    lines.fill(c, tiling, b, channel, x);
    for (int64_t t = 0; t < b.stride; t += lanes) {
      V rows[kIn][kIn];  // [column of the patch][position down]
      V patch[kIn][kIn];
      for (int i = 0; i < kIn; ++i) {
        V unused1, unused2;
        hn::LoadInterleaved4(d, lines.low + i * width + t * kOut, patch[0][i], patch[1][i],
                             patch[2][i], patch[3][i]);
        hn::LoadInterleaved4(d, lines.high + i * width + t * kOut, patch[4][i], patch[5][i],
                             unused1, unused2);
      }
      for (int j = 0; j < kIn; ++j) transform_6(patch[j], rows[j]);
      float* to = v + channel * b.stride + t;
      for (int i = 0; i < kIn; ++i) {
        const V across[kIn] = {rows[0][i], rows[1][i], rows[2][i],
                               rows[3][i], rows[4][i], rows[5][i]};
        V out[kIn];
        transform_6(across, out);
        for (int j = 0; j < kIn; ++j) hn::StoreU(out[j], d, to + (i * kIn + j) * position);
      }
    }
  }
}

// One vector of filters of one tile, cut where the image ends: 4x4 outputs to the planes.
HWY_INLINE void store_tile(const V (&y)[kOut][kOut], int64_t filters, int64_t lines,
                           int64_t columns, int64_t plane, int64_t width, float* to) {
  const D d;
  HWY_ALIGN float quads[HWY_MAX_BYTES];
  for (int64_t i = 0; i < lines; ++i) {
    hn::StoreInterleaved4(y[i][0], y[i][1], y[i][2], y[i][3], d, quads);
    if (columns == kOut) {
      for (int64_t f = 0; f < filters; ++f)
        std::copy_n(quads + f * kOut, kOut, to + f * plane + i * width);
    } else {
      for (int64_t f = 0; f < filters; ++f)
        std::copy_n(quads + f * kOut, columns, to + f * plane + i * width);
    }
  }
}

// Tiles [begin, end) of a block.
void transform_outputs(const Conv& c, const WinogradBlock& b, const float* m, int64_t m_stride,
                       float* y, int64_t begin, int64_t end) {
  const D d;
  const Tiling tiling(c);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), position = b.count * m_stride;
  for (int64_t t = begin; t < end; ++t) {
    const int64_t tile = b.first + t, image = tile / tiling.per_image,
                  in_image = tile % tiling.per_image, top = in_image / tiling.across * kOut,
                  left = in_image % tiling.across * kOut;
    const int64_t lines = std::min<int64_t>(kOut, c.out[1] - top),
                  columns = std::min<int64_t>(kOut, c.out[2] - left);
    for (int64_t f = 0; f < c.filters; f += lanes) {
      const float* from = m + t * m_stride + f;
      V half[kOut][kIn];
      for (int j = 0; j < kIn; ++j) {
        V down[kIn], out[kOut];
        for (int i = 0; i < kIn; ++i) down[i] = hn::LoadU(d, from + (i * kIn + j) * position);
        transform_4(down, out);
        for (int i = 0; i < kOut; ++i) half[i][j] = out[i];
      }
      const int64_t n = std::min(lanes, c.filters - f);
      V tile_out[kOut][kOut];
      for (int i = 0; i < kOut; ++i) transform_4(half[i], tile_out[i]);
      store_tile(tile_out, n, lines, columns, c.out_plane(), c.out[2],
                 y + (image * c.filters + f) * c.out_plane() + top * c.out[2] + left);
    }
  }
}

// G times a column of a filter, G = 6 x 3, in double: what is packed is rounded once.
HWY_INLINE void transform_3(const DV (&k)[3], DV (&u)[kIn]) {
  const DD d;
  constexpr double kThird = 1.0 / 3, kSixth = 1.0 / 6, a = 0.70710678118654752440,
                   b = 1.41421356237309504880;
  const DV even1 = hn::Mul(hn::Set(d, -kThird), hn::MulAdd(hn::Set(d, 2.0), k[0], k[2])),
           odd1 = hn::Mul(hn::Set(d, -2 * kThird * a), k[1]);
  const DV even2 = hn::MulAdd(hn::Set(d, kSixth), k[0], hn::Mul(hn::Set(d, kThird), k[2])),
           odd2 = hn::Mul(hn::Set(d, kSixth * b), k[1]);
  u[0] = k[0];
  u[1] = hn::Add(even1, odd1);
  u[2] = hn::Sub(even1, odd1);
  u[3] = hn::Add(even2, odd2);
  u[4] = hn::Sub(even2, odd2);
  u[5] = k[2];
}

// U = G w G^T of channels [begin, end): 36 matrices [channels][filters] in panels of `width`
// columns, as gemm_packed reads them. Whole cache lines are written.
void transform_weights(const Conv& c, const float* w, int64_t width, float* to, int64_t begin,
                       int64_t end) {
  const DD d;
  const hn::Rebind<float, DD> narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)),
                columns = (c.filters + width - 1) / width * width, matrix = columns * c.channels,
                step = std::min(kLine, width);
  for (int64_t f0 = 0; f0 < columns; f0 += step) {
    float* panel = to + f0 / width * width * c.channels + f0 % width;
    for (int64_t channel = begin; channel < end; ++channel) {
      HWY_ALIGN double taps[9][kLine] = {};
      for (int64_t f = 0; f < std::min(step, c.filters - f0); ++f) {
        const float* k = w + ((f0 + f) * c.channels + channel) * 9;
        for (int i = 0; i < 9; ++i) taps[i][f] = static_cast<double>(k[i]);
      }
      for (int64_t f = 0; f < step; f += lanes) {
        DV half[3][kIn];
        for (int j = 0; j < 3; ++j) {
          const DV column[3] = {hn::Load(d, taps[j] + f), hn::Load(d, taps[3 + j] + f),
                                hn::Load(d, taps[6 + j] + f)};
          transform_3(column, half[j]);
        }
        float* out = panel + channel * width + f;
        for (int i = 0; i < kIn; ++i) {
          const DV row[3] = {half[0][i], half[1][i], half[2][i]};
          DV u[kIn];
          transform_3(row, u);
          for (int j = 0; j < kIn; ++j)
            hn::StoreU(hn::DemoteTo(narrow, u[j]), narrow, out + (i * kIn + j) * matrix);
        }
      }
    }
  }
}

int64_t float_lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(transform_inputs);
TENON_EXPORT(transform_outputs);
TENON_EXPORT(transform_weights);
TENON_EXPORT(float_lanes);

namespace {

constexpr int64_t kPositions = 36;

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

packed::Kept weights_of(const Conv& c, const float* w, const packed::Origin& from) {
  const int64_t kWinograd = -43,  // the kind, beside those of gemm and oneDNN
      layout[] = {kWinograd, c.filters, c.channels};
  const int64_t bytes = kPositions * gemm_packed_size<float>(c.filters, c.channels) * 4;
  packed::Found found = packed::find(from, sdk::Ints(layout, 3), bytes);
  if (found.memory) return found.memory;
  Buffer made(bytes);
  const int64_t width = gemm_packed_size<float>(1, 1);
  sdk::parallel_for(c.channels, 8, [&](int64_t begin, int64_t end) {
    TENON_DISPATCH(transform_weights)(c, w, width, made.as<float>(), begin, end);
  });
  if (found.wanted) return packed::add(from, sdk::Ints(layout, 3), std::move(made), bytes);
  return std::make_shared<const Buffer>(std::move(made));
}

// Tiles whose inputs and products stay in the second cache, but enough of them that the weights
// are worth reading.
int64_t block_of(const Conv& c, int64_t tiles) {
  constexpr int64_t kCache = 1 << 20, kMinTiles = 48;
  const int64_t fit = kCache / (4 * kPositions * (c.channels + c.filters));
  return std::min(tiles, std::max(kMinTiles, fit));
}

bool pays(const Conv& c) {
  const bool plane = c.in[0] == 1 && c.out[0] == 1 && c.kernel[0] == 1 && c.pad[0] == 0;
  if (!plane || c.groups != 1 || c.channels < 16 || c.filters < 16) return false;
  for (int i = 1; i < 3; ++i) {
    if (c.kernel[i] != 3 || c.stride[i] != 1 || c.dilation[i] != 1) return false;
  }
  // Fewer tiles would wait for the weights, which are four times as many as in a direct sum.
  return c.batch * ((c.out[1] + 3) / 4) * ((c.out[2] + 3) / 4) >= 12;
}

}  // namespace

bool conv_forward_winograd(const Conv& c, const float* x, const float* w,
                           const packed::Origin& from, float* y) {
  if (!pays(c)) return false;
  struct Inputs;
  struct Products;
  const int64_t tiles = c.batch * ((c.out[1] + 3) / 4) * ((c.out[2] + 3) / 4),
                most = block_of(c, tiles), lanes = TENON_DISPATCH(float_lanes)();
  const int64_t m_stride = rounded_up(c.filters, lanes),
                matrix = gemm_packed_size<float>(c.filters, c.channels);
  const packed::Kept weights = weights_of(c, w, from);
  float* v = static_cast<float*>(
      ThreadBuffer<Inputs>::get(kPositions * c.channels * rounded_up(most, lanes) * 4));
  float* m = static_cast<float*>(ThreadBuffer<Products>::get(kPositions * most * m_stride * 4));
  for (int64_t first = 0; first < tiles; first += most) {
    const int64_t count = std::min(most, tiles - first);
    const WinogradBlock b{first, count, rounded_up(count, lanes)};
    sdk::parallel_for(c.channels, 8, [&](int64_t begin, int64_t end) {
      TENON_DISPATCH(transform_inputs)(c, b, x, v, begin, end);
    });
    sdk::parallel_for(kPositions, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        gemm_packed(count, m_stride, c.channels, {v + p * c.channels * b.stride, 1, b.stride},
                    weights->as<const float>() + p * matrix,
                    {m + p * count * m_stride, m_stride, 1});
      }
    });
    sdk::parallel_for(count, 4, [&](int64_t begin, int64_t end) {
      TENON_DISPATCH(transform_outputs)(c, b, m, m_stride, y, begin, end);
    });
  }
  return true;
}

}  // namespace tenon::cpu
#endif
