// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of a convolution's weights in bfloat16 on a unit of tiles: filters by taps and channels, summed over pixels
// and images in a fixed order.
#include <algorithm>

#include "plugin_cpu/buffer.h"
#include "plugin_cpu/conv.h"
#include "plugin_cpu/gather_tiles.h"
#include "plugin_cpu/tile_area.h"

namespace tenon::cpu {
namespace {

using sdk::BFloat16;

// Channels and filters are those of a group; columns are taps by whole tiles of channels.
struct Gradient {
  const TileUnit& unit;
  const Conv& c;
  Window window;
  int64_t channels, filters, depth, columns;
  const BFloat16* dy;
  float* total;  // [group][filter][column]
};

Gradient gradient(const TileUnit& unit, const Conv& c, const void* dy) {
  struct Total;
  const int64_t channels = c.channels / c.groups, filters = c.filters / c.groups, depth = tiles(channels, kTileDepth);
  const int64_t columns = c.taps() * depth * kTileDepth;
  float* total = static_cast<float*>(ThreadBuffer<Total>::get(c.filters * columns * 4));
  return {unit, c, Window::forward(c), channels, filters, depth, columns, static_cast<const BFloat16*>(dy), total};
}

struct Part {
  int64_t group, filter, rows, column, cols;
};

// Images of both sides, packed; those of dy are lines of filters, along k are pixels.
struct Sides {
  Images x;
  const char* dy;
  int64_t dy_bytes, count;
};

// Images [first, first + count).
Sides pack_sides(const Gradient& w, const BFloat16* x, int64_t first, int64_t count) {
  struct Outputs;
  const int64_t groups = w.c.groups, plane = w.c.out_plane(), bytes = packed_bytes(w.filters, plane);
  char* to = static_cast<char*>(ThreadBuffer<Outputs>::get(count * groups * bytes));
  sdk::parallel_for(count * groups, std::max<int64_t>(1, (1 << 18) / bytes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const BFloat16* dy = w.dy + (first * groups + i) * w.filters * plane;
      pack_tiles({&dy->x, plane, 1}, w.filters, plane, TileOrder::LinesFirst, to + i * bytes, count * groups > 1);
    }
  });
  return {pack_images(x, w.channels, w.c.in_plane(), first * groups, count * groups), to, bytes, count};
}

// The sums of one area, a step of pixels of one image after the other.
void sum_images(const Gradient& w, const Part& part, const Sides& sides, Area& sums) {
  struct Pairs;
  const int64_t plane = w.c.out_plane(), plane_depth = tiles(plane, kTileDepth);
  char* pairs = static_cast<char*>(ThreadBuffer<Pairs>::get(packed_bytes(kArea, Positions::kMost)));
  for (int64_t p = 0; p < plane; p += Positions::kMost) {
    const Positions positions(w.window, sides.x, p, std::min(Positions::kMost, plane - p));
    const int64_t depth = tiles(positions.count(), kTileDepth);
    for (int64_t i = 0; i < sides.count; ++i) {
      const int64_t at = i * w.c.groups + part.group;
      gather_pairs(positions, sides.x.at(at), part.column / kTileDepth, part.cols / kTileDepth, pairs);
      const Packed dy{sides.dy + at * sides.dy_bytes, plane_depth};
      sums.multiply(w.unit, dy.from(part.filter, p / kTileDepth), {pairs, depth}, depth, part.rows, part.cols,
                    i > 0 || p > 0);
    }
  }
}

void add_images(const Gradient& w, const BFloat16* x, int64_t first, int64_t count) {
  const Sides sides = pack_sides(w, x, first, count);
  const int64_t down = tiles(w.filters, kArea), across = tiles(w.columns, kArea);
  sdk::parallel_for(w.c.groups * down * across, 1, [&](int64_t begin, int64_t end) {
    const TileSession session(w.unit);
    Area sums;
    for (int64_t q = begin; q < end; ++q) {
      const int64_t i = q / across % down * kArea, j = q % across * kArea;
      const Part part{q / (down * across), i, std::min(kArea, w.filters - i), j, std::min(kArea, w.columns - j)};
      sum_images(w, part, sides, sums);
      for (int64_t r = 0; r < part.rows; ++r) {
        const float* sum = sums.row(r);
        float* to = w.total + (part.group * w.filters + i + r) * w.columns + j;
        for (int64_t k = 0; k < part.cols; ++k) to[k] = first > 0 ? to[k] + sum[k] : sum[k];
      }
    }
  });
}

void store(const Gradient& w, BFloat16* dw) {
  const int64_t taps = w.c.taps();
  sdk::parallel_for(w.c.filters, std::max<int64_t>(1, 32768 / w.columns), [&](int64_t begin, int64_t end) {
    for (int64_t f = begin; f < end; ++f) {
      for (int64_t c = 0; c < w.channels; ++c) {
        const float* from = w.total + f * w.columns + c;
        BFloat16* to = dw + (f * w.channels + c) * taps;
        for (int64_t t = 0; t < taps; ++t) to[t] = BFloat16(from[t * w.depth * kTileDepth]);
      }
    }
  });
}

}  // namespace

bool conv_backward_weights_tiles(const Conv& c, const void* x, const void* dy, void* dw) {
  const TileUnit* unit = conv_unit(c);
  if (!unit) return false;
  const Gradient w = gradient(*unit, c, dy);
  const Images one{nullptr, w.channels, c.in_plane()};
  const int64_t image_bytes = c.groups * std::max(one.bytes(), packed_bytes(w.filters, c.out_plane()));
  const int64_t some = std::max<int64_t>(1, kTilePackBytes / image_bytes);
  for (int64_t first = 0; first < c.batch; first += some) {
    add_images(w, static_cast<const BFloat16*>(x), first, std::min(some, c.batch - first));
  }
  store(w, static_cast<BFloat16*>(dw));
  return true;
}

}  // namespace tenon::cpu
