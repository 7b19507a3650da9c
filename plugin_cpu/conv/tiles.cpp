// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// bfloat16 convolutions on a unit of tiles: products over windows that are gathered while they are
// multiplied. Forward and backward by data share one loop, in which each pixel of one side reads
// the other side through the taps.
#include <algorithm>

#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/conv/gather_tiles.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/simd/convert.h"
#include "plugin_cpu/tiles/area.h"

namespace tenon::cpu {
namespace {

using sdk::BFloat16;

// Channels are those of a group.
struct Walk {
  const TileUnit& unit;
  Window window;
  int64_t batch, groups, from_channels, to_channels;
  int64_t to_stride, from_stride;  // of the weights, by channel; taps are next to each other
  const BFloat16 *from, *weights, *bias;
  BFloat16* to;

  int64_t images() const { return batch * groups; }
  int64_t depth() const { return tiles(from_channels, kTileDepth); }  // tiles of channels
  int64_t all_depth() const { return window.all_taps() * depth(); }
};

// By group: lines of to-channels; along k, tap and from-channel as gather_lines has them.
const char* pack_weights(const Walk& w) {
  struct Ordered;
  struct PackedWeights;
  const int64_t taps = w.window.all_taps(), k = w.all_depth() * kTileDepth;
  const int64_t bytes = packed_bytes(w.to_channels, k);
  uint16_t* ordered = static_cast<uint16_t*>(ThreadBuffer<Ordered>::get(w.to_channels * k * 2));
  char* to = static_cast<char*>(ThreadBuffer<PackedWeights>::get(w.groups * bytes));
  std::fill(ordered, ordered + w.to_channels * k, uint16_t{0});
  for (int64_t g = 0; g < w.groups; ++g) {
    const BFloat16* from = w.weights + g * w.to_channels * w.from_channels * taps;
    sdk::parallel_for(w.to_channels, std::max<int64_t>(1, 65536 / k),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t t = begin; t < end; ++t) {
                          for (int64_t c = 0; c < w.from_channels; ++c) {
                            const BFloat16* p = from + t * w.to_stride + c * w.from_stride;
                            for (int64_t q = 0; q < taps; ++q)
                              ordered[t * k + q * w.depth() * kTileDepth + c] = p[q].x;
                          }
                        }
                      });
    pack_tiles({ordered, k, 1}, w.to_channels, k, TileOrder::PairsFirst, to + g * bytes, false);
  }
  return to;
}

// The pixels of `p`, from `first` on, of image `at`.
void pixels(const Walk& w, const Positions& p, const uint16_t* image, const char* weights,
            int64_t at, int64_t first) {
  struct Gathered;
  const int64_t depth = w.all_depth(), plane = w.window.to_plane(), count = p.count();
  char* lines =
      static_cast<char*>(ThreadBuffer<Gathered>::get(kArea / kTileLines * depth * kTileBytes));
  gather_lines(p, image, lines);
  Area<> sums, transposed;
  for (int64_t j = 0; j < w.to_channels; j += kArea) {
    const int64_t cols = std::min(kArea, w.to_channels - j);
    sums.multiply(w.unit, {lines, depth}, Packed{weights, depth}.from(j), depth, count, cols,
                  false);
    sums.transpose_into(transposed, count, cols);
    for (int64_t c = 0; c < cols; ++c) {
      float* row = transposed.row(c);
      if (w.bias) {
        const float bias = w.bias[at % w.groups * w.to_channels + j + c];
        std::transform(row, row + count, row, [bias](float x) { return x + bias; });
      }
      from_float(row, w.to + (at * w.to_channels + j + c) * plane + first, count);
    }
  }
}

// Images [first, first + count), the same pixels of one after the other.
void convolve_images(const Walk& w, const char* weights, int64_t first, int64_t count) {
  const int64_t plane = w.window.to_plane(), parts = tiles(plane, kArea);
  const int64_t weight_bytes = packed_bytes(w.to_channels, w.all_depth() * kTileDepth);
  const Images images = pack_images(w.from, w.from_channels, w.window.from_plane(), first, count);
  const int64_t grain = std::clamp<int64_t>(parts * count / 16, 1, 4);
  sdk::parallel_for(parts * count, grain, [&](int64_t begin, int64_t end) {
    const TileSession session(w.unit);
    for (int64_t q = begin; q < end;) {
      const int64_t at = q / count * kArea, last = std::min(end, (q / count + 1) * count);
      const Positions p(w.window, images, at, std::min(kArea, plane - at));
      for (; q < last; ++q) {
        const int64_t i = q % count, group = (first + i) % w.groups;
        pixels(w, p, images.at(i), weights + group * weight_bytes, first + i, at);
      }
    }
  });
}

void run(const Walk& w) {
  const Images one{nullptr, w.from_channels, w.window.from_plane()};
  const int64_t some = std::max<int64_t>(1, kTilePackBytes / one.bytes());
  const char* weights = pack_weights(w);
  for (int64_t i = 0; i < w.images(); i += some)
    convolve_images(w, weights, i, std::min(some, w.images() - i));
}

const BFloat16* bf16(const void* p) { return static_cast<const BFloat16*>(p); }

}  // namespace

bool conv_forward_tiles(const Conv& c, const void* x, const void* w, const void* bias, void* y) {
  const TileUnit* unit = conv_unit(c);
  if (!unit) return false;
  const int64_t channels = c.channels / c.groups, filters = c.filters / c.groups, taps = c.taps();
  run({*unit, Window::forward(c), c.batch, c.groups, channels, filters, channels * taps, taps,
       bf16(x), bf16(w), bf16(bias), static_cast<BFloat16*>(y)});
  return true;
}

bool conv_backward_data_tiles(const Conv& c, const void* dy, const void* w, const void* bias,
                              void* dx) {
  const TileUnit* unit = conv_unit(c);
  if (!unit) return false;
  const int64_t channels = c.channels / c.groups, filters = c.filters / c.groups, taps = c.taps();
  run({*unit, Window::backward_data(c), c.batch, c.groups, filters, channels, taps, channels * taps,
       bf16(dy), bf16(w), bf16(bias), static_cast<BFloat16*>(dx)});
  return true;
}

}  // namespace tenon::cpu
