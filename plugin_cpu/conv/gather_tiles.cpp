// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/conv/gather_tiles.h"

#include <algorithm>
#include <cstring>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/bf16.h"
#include "plugin_cpu/tiles/area.h"
#include "plugin_cpu/tiles/lines.h"

namespace tenon::cpu {
namespace {

// The sum of three fits int32_t, and plus any pixel it stays negative.
constexpr int32_t kNone = -(1 << 29);

// Coordinates of `count` pixels from the first on.
void coordinates(const Window& w, int64_t first, int64_t count,
                 int32_t (*to)[Positions::kMaxPixels]) {
  int64_t d = first / (w.to[1] * w.to[2]), h = first / w.to[2] % w.to[1], v = first % w.to[2];
  for (int64_t q = 0; q < count; ++q) {
    to[0][q] = static_cast<int32_t>(d), to[1][q] = static_cast<int32_t>(h),
    to[2][q] = static_cast<int32_t>(v);
    if (++v < w.to[2]) continue;
    v = 0;
    if (++h < w.to[1]) continue;
    h = 0, ++d;
  }
}

// The coordinates that one tap reads in one dimension, times `inner` pixels.
void sources(const Window& w, int i, int64_t tap, const int32_t* coordinate, int64_t count,
             int64_t inner, int32_t* to) {
  const auto step = static_cast<int32_t>(w.step[i]),
             shift = static_cast<int32_t>(w.first[i] + tap * w.tap_step[i]);
  const auto size = static_cast<int32_t>(w.from[i]), divide = static_cast<int32_t>(w.divide[i]);
  const auto far = static_cast<int32_t>(inner);
  for (int64_t q = 0; q < count; ++q) {
    int32_t at = coordinate[q] * step + shift;
    if (divide != 1) at = at % divide == 0 ? at / divide : -1;
    to[q] = at >= 0 && at < size ? at * far : kNone;
  }
}

}  // namespace

const TileUnit* conv_unit(const Conv& c) {
  const int64_t channels = c.channels / c.groups, filters = c.filters / c.groups;
  const int64_t max_offset = std::max(channels * c.in_plane(), filters * c.out_plane());
  const bool pays = tiles_pay(filters, channels, c.taps() * c.out_plane()) && c.out_plane() >= 8 &&
                    c.in_plane() >= 8;
  return pays && max_offset < -kNone && c.work() * c.batch > 65536 ? convolution_unit() : nullptr;
}

Images pack_images(const sdk::BFloat16* x, int64_t channels, int64_t plane, int64_t first,
                   int64_t count) {
  Images images{nullptr, channels, plane};
  const int64_t bytes = images.bytes(), pixels = packed_bytes(plane, channels);
  char* to = static_cast<char*>(ThreadBuffer<Images>::get(count * bytes));
  sdk::parallel_for(
      count, std::max<int64_t>(1, (1 << 18) / bytes), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Lines lines{&x[(first + i) * channels * plane].x, 1, plane};
          pack_tiles(lines, plane, channels, TileOrder::LinesFirst, to + i * bytes, count > 1);
          std::memset(to + i * bytes + pixels, 0, static_cast<std::size_t>(bytes - pixels));
        }
      });
  images.packed = to;
  return images;
}

Window Window::forward(const Conv& c) {
  Window w{};
  for (int i = 0; i < 3; ++i) {
    w.from[i] = c.in[i], w.to[i] = c.out[i], w.taps[i] = c.kernel[i];
    w.step[i] = c.stride[i], w.first[i] = -c.pad[i], w.tap_step[i] = c.dilation[i], w.divide[i] = 1;
  }
  return w;
}

Window Window::backward_data(const Conv& c) {
  Window w{};
  for (int i = 0; i < 3; ++i) {
    w.from[i] = c.out[i], w.to[i] = c.in[i], w.taps[i] = c.kernel[i];
    w.step[i] = 1, w.first[i] = c.pad[i], w.tap_step[i] = -c.dilation[i], w.divide[i] = c.stride[i];
  }
  return w;
}

Positions::Positions(const Window& w, const Images& images, int64_t first, int64_t count)
    : count_(count),
      depth_(images.depth()),
      none_(static_cast<int32_t>(tiles(images.plane, kTileLines) * kTileLines)) {
  int32_t coordinate[3][kMaxPixels];
  coordinates(w, first, count, coordinate);
  const int64_t rows = w.taps[0] + w.taps[1] + w.taps[2],
                whole = tiles(count, kTileDepth) * kTileDepth;
  const int64_t words = rows * kMaxPixels + w.all_taps() * (whole + 1);
  int32_t* part = static_cast<int32_t*>(
      ThreadBuffer<Positions>::get(words * static_cast<int64_t>(sizeof(int32_t))));
  const int64_t inner[3] = {w.from[1] * w.from[2], w.from[2], 1};
  for (int i = 0; i < 3; ++i) {
    part_[i] = part, taps_[i] = w.taps[i];
    for (int64_t t = 0; t < w.taps[i]; ++t, part += kMaxPixels)
      sources(w, i, t, coordinate[i], count, inner[i], part);
  }
  at_ = part, made_ = part + w.all_taps() * whole;
  std::fill(made_, made_ + w.all_taps(), 0);
}

const int32_t* Positions::of(int64_t tap) const {
  const int64_t whole = tiles(count_, kTileDepth) * kTileDepth;
  int32_t* at = at_ + tap * whole;
  if (made_[tap]) return at;
  made_[tap] = 1;
  const int32_t* d = part_[0] + tap / (taps_[1] * taps_[2]) * kMaxPixels;
  const int32_t* h = part_[1] + tap / taps_[2] % taps_[1] * kMaxPixels;
  const int32_t* v = part_[2] + tap % taps_[2] * kMaxPixels;
  const auto depth = static_cast<int32_t>(depth_);
  for (int64_t i = 0; i < count_; ++i) {
    const int32_t sum = d[i] + h[i] + v[i], pixel = sum < 0 ? none_ : sum;
    at[i] = (pixel >> 4) * 16 * depth + (pixel & 15);
  }
  std::fill(at + count_, at + whole, (none_ >> 4) * 16 * depth);
  return at;
}

void gather_lines(const Positions& p, const uint16_t* image, char* to) {
  const int64_t depth = p.all_taps() * p.depth();
  for (int64_t tap = 0; tap < p.all_taps(); ++tap) {
    const int32_t* at = p.of(tap);
    for (int64_t c = 0; c < p.depth(); ++c, to += kTileBytes) {
      char* tile = to;
      for (int64_t i = 0; i < p.count(); i += kTileLines, tile += depth * kTileBytes) {
        copy_lines_at(image + c * kTileLines * kTileDepth, at + i, tile);
      }
    }
  }
}

void gather_pairs(const Positions& p, const uint16_t* image, int64_t first, int64_t count,
                  char* to) {
  const int64_t depth = tiles(p.count(), kTileDepth);
  for (int64_t u = first; u < first + count; ++u, to += 2 * depth * kTileBytes) {
    const int32_t* at = p.of(u / p.depth());
    const uint16_t* channels = image + u % p.depth() * kTileLines * kTileDepth;
    for (int64_t p = 0; p < depth; ++p) {
      char* first = to + p * kTileBytes;
      pair_lines_at(channels, at + p * kTileDepth, first, first + depth * kTileBytes);
    }
  }
}

}  // namespace tenon::cpu
