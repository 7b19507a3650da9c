// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of a convolution's weights in bfloat16 on a unit of tiles: filters by taps and
// channels, summed over pixels and images in a fixed order.
#include <algorithm>

#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/conv/gather_tiles.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/tiles/area.h"

namespace tenon::cpu {
namespace {

using sdk::BFloat16;

// Channels and filters are those of a group; columns are taps by whole tiles of channels.
struct Gradient {
  const TileUnit& unit;
  const Conv& c;
  Window window;
  int64_t channels, filters, depth = 0, columns = 0;
  const BFloat16 *x = nullptr, *dy = nullptr;
  int64_t batch = 0;  // images that are packed at once
  // Of the batch, each summed separately, so that a gradient of few areas has work for all threads.
  int64_t shares = 0;
  float* total = nullptr;  // [share][group][filter][column]

  int64_t down() const { return tiles(filters, kArea); }
  int64_t across() const { return tiles(columns, kArea); }
  int64_t share_size() const { return c.filters * columns; }
};

Gradient gradient(const TileUnit& unit, const Conv& c, const void* x, const void* dy) {
  struct Total;
  Gradient w{unit, c, Window::forward(c), c.channels / c.groups, c.filters / c.groups};
  w.x = static_cast<const BFloat16*>(x), w.dy = static_cast<const BFloat16*>(dy);
  w.depth = tiles(w.channels, kTileDepth), w.columns = c.taps() * w.depth * kTileDepth;
  const Images one{nullptr, w.channels, c.in_plane()};
  const int64_t bytes = c.groups * std::max(one.bytes(), packed_bytes(w.filters, c.out_plane()));
  w.batch = std::min(c.batch, std::max<int64_t>(1, kTilePackBytes / bytes));
  w.shares = std::min(w.batch, std::max<int64_t>(1, 8 / (c.groups * w.down() * w.across())));
  w.total = static_cast<float*>(ThreadBuffer<Total>::get(w.shares * w.share_size() * 4));
  return w;
}

// An area of a group's gradient over images [image, last) of those that are packed.
struct Part {
  int64_t group, filter, rows, column, cols, image, last;
};

// Images of both sides, packed; those of dy are lines of filters, along k are pixels.
struct Sides {
  Images x;
  const char* dy;
  int64_t dy_bytes;
};

// Images [first, first + count).
Sides pack_sides(const Gradient& w, int64_t first, int64_t count) {
  struct Outputs;
  const int64_t groups = w.c.groups, plane = w.c.out_plane(),
                bytes = packed_bytes(w.filters, plane);
  char* to = static_cast<char*>(ThreadBuffer<Outputs>::get(count * groups * bytes));
  sdk::parallel_for(count * groups, std::max<int64_t>(1, (1 << 18) / bytes),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const BFloat16* dy = w.dy + (first * groups + i) * w.filters * plane;
                        pack_tiles({&dy->x, plane, 1}, w.filters, plane, TileOrder::LinesFirst,
                                   to + i * bytes, count * groups > 1);
                      }
                    });
  return {pack_images(w.x, w.channels, w.c.in_plane(), first * groups, count * groups), to, bytes};
}

// Its sums, a step of pixels of one image after the other.
void sum_images(const Gradient& w, const Part& part, const Sides& sides, Area<>& sums) {
  struct Pairs;
  const int64_t plane = w.c.out_plane(), plane_depth = tiles(plane, kTileDepth);
  char* pairs =
      static_cast<char*>(ThreadBuffer<Pairs>::get(packed_bytes(kArea, Positions::kMaxPixels)));
  for (int64_t p = 0; p < plane; p += Positions::kMaxPixels) {
    const Positions positions(w.window, sides.x, p, std::min(Positions::kMaxPixels, plane - p));
    const int64_t depth = tiles(positions.count(), kTileDepth);
    for (int64_t i = part.image; i < part.last; ++i) {
      const int64_t at = i * w.c.groups + part.group;
      gather_pairs(positions, sides.x.at(at), part.column / kTileDepth, part.cols / kTileDepth,
                   pairs);
      const Packed dy{sides.dy + at * sides.dy_bytes, plane_depth};
      sums.multiply(w.unit, dy.from(part.filter, p / kTileDepth), {pairs, depth}, depth, part.rows,
                    part.cols, i > part.image || p > 0);
    }
  }
}

Part part_of(const Gradient& w, int64_t task, int64_t count) {
  const int64_t areas = w.down() * w.across(), share = task / (areas * w.c.groups);
  const int64_t i = task / w.across() % w.down() * kArea, j = task % w.across() * kArea;
  return {task / areas % w.c.groups,      i,
          std::min(kArea, w.filters - i), j,
          std::min(kArea, w.columns - j), share * count / w.shares,
          (share + 1) * count / w.shares};
}

// Sums of images [first, first + count), added to the totals; the first of them overwrite the
// totals.
void add_images(const Gradient& w, int64_t first, int64_t count) {
  const Sides sides = pack_sides(w, first, count);
  const int64_t areas = w.c.groups * w.down() * w.across();
  sdk::parallel_for(w.shares * areas, 1, [&](int64_t begin, int64_t end) {
    const TileSession session(w.unit);
    Area<> sums;
    for (int64_t q = begin; q < end; ++q) {
      const Part part = part_of(w, q, count);
      if (part.image == part.last) continue;
      sum_images(w, part, sides, sums);
      float* total =
          w.total + q / areas * w.share_size() + (part.group * w.filters + part.filter) * w.columns;
      for (int64_t r = 0; r < part.rows; ++r) {
        const float* sum = sums.row(r);
        float* to = total + r * w.columns + part.column;
        for (int64_t k = 0; k < part.cols; ++k) to[k] = first > 0 ? to[k] + sum[k] : sum[k];
      }
    }
  });
}

// The shares are added in their order and rounded once.
void store(const Gradient& w, BFloat16* dw) {
  const int64_t taps = w.c.taps();
  sdk::parallel_for(w.c.filters, std::max<int64_t>(1, 32768 / w.columns),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t f = begin; f < end; ++f) {
                        float* sum = w.total + f * w.columns;
                        for (int64_t s = 1; s < w.shares; ++s) {
                          const float* more = sum + s * w.share_size();
                          for (int64_t k = 0; k < w.columns; ++k) sum[k] += more[k];
                        }
                        for (int64_t c = 0; c < w.channels; ++c) {
                          BFloat16* to = dw + (f * w.channels + c) * taps;
                          for (int64_t t = 0; t < taps; ++t)
                            to[t] = BFloat16(sum[t * w.depth * kTileDepth + c]);
                        }
                      }
                    });
}

}  // namespace

bool conv_backward_weights_tiles(const Conv& c, const void* x, const void* dy, void* dw) {
  const TileUnit* unit = conv_unit(c);
  if (!unit) return false;
  const Gradient w = gradient(*unit, c, x, dy);
  for (int64_t first = 0; first < c.batch; first += w.batch)
    add_images(w, first, std::min(w.batch, c.batch - first));
  store(w, static_cast<BFloat16*>(dw));
  return true;
}

}  // namespace tenon::cpu
