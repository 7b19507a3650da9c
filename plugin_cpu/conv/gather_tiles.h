// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Images as operands of tile units. An image is packed once, as lines of channels: the 32 channels
// of a tile are 64 bytes for each pixel. The windows of a convolution are then copies of such
// bytes.
#pragma once

#include <cstdint>

#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/tiles/pack.h"

namespace tenon::cpu {

// Which pixel a tap reads for a pixel of the other side: (pixel * step + first + tap * tap_step) /
// divide, by dimension; none if the division leaves a remainder or the pixel lies outside.
struct Window {
  int64_t from[3], to[3], taps[3], step[3], first[3], tap_step[3], divide[3];

  static Window forward(const Conv& c);        // outputs read inputs
  static Window backward_data(const Conv& c);  // inputs read outputs
  int64_t from_plane() const { return from[0] * from[1] * from[2]; }
  int64_t to_plane() const { return to[0] * to[1] * to[2]; }
  int64_t all_taps() const { return taps[0] * taps[1] * taps[2]; }
};

// Null if there is no unit of tiles or the convolution is too small for it.
const TileUnit* conv_unit(const Conv& c);

// An image packed as lines of channels, then 16 lines of zeros for the taps that find no pixel.
struct Images {
  const char* packed;
  int64_t channels, plane;
  int64_t depth() const { return tiles(channels, kTileDepth); }  // tiles of channels
  int64_t bytes() const { return packed_bytes(plane + kTileLines, channels); }
  const uint16_t* at(int64_t i) const {
    return reinterpret_cast<const uint16_t*>(packed + i * bytes());
  }
};

// Images [first, first + count), until the thread's next call.
Images pack_images(const sdk::BFloat16* x, int64_t channels, int64_t plane, int64_t first,
                   int64_t count);

// The pixels that all taps read for pixels [first, first + count) of the other side. A thread has
// one at a time.
class Positions {
 public:
  static constexpr int64_t kMaxPixels = 512;
  Positions(const Window& w, const Images& images, int64_t first, int64_t count);
  // For one tap, where the first 32 channels of those pixels are, in units of 32 elements from an
  // image's start; then zeros, up to a multiple of 32 pixels. Computed on the first call and reused
  // for further images.
  const int32_t* of(int64_t tap) const;
  int64_t count() const { return count_; }
  int64_t all_taps() const { return taps_[0] * taps_[1] * taps_[2]; }
  int64_t depth() const { return depth_; }

 private:
  int64_t count_, depth_, taps_[3];
  int32_t none_;
  int32_t* part_[3];     // by dimension, tap and pixel; the sum of three is a pixel
  int32_t *made_, *at_;  // whether a tap is computed; the offsets by tap and pixel
};

// Lines: the pixels of `p`. Along k: tap, then channel.
void gather_lines(const Positions& p, const uint16_t* image, char* to);
// Lines: tap, then channel, `count` tiles of 32 from the first on. Along k: the pixels of `p`.
void gather_pairs(const Positions& p, const uint16_t* image, int64_t first, int64_t count,
                  char* to);

}  // namespace tenon::cpu
