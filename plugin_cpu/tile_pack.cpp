// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/tile_pack.h"

#include <algorithm>
#include <cstring>

#include "plugin_cpu/turn.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kSide = 16;  // lines and pairs of a tile
static_assert(kSide * kSide * 4 == kTileBytes && kSide == kTileLines && 2 * kSide == kTileDepth, "");

using Words = uint32_t[kSide][kSide];

void turn(const Words& from, Words& to) {
  for (int i = 0; i < kSide; i += 4) {
    for (int j = 0; j < kSide; j += 4) turn_four(&from[i][j], kSide, &to[j][i], kSide);
  }
}

// Lines that are contiguous in k, as rows.
void read_lines(const Lines& from, int64_t lines, int64_t k, Words& to) {
  if (lines < kSide || k < kTileDepth) std::memset(to, 0, sizeof(to));
  if (k == kTileDepth) {
    for (int64_t i = 0; i < lines; ++i) std::memcpy(to[i], from.data + i * from.line, 64);
  } else {
    for (int64_t i = 0; i < lines; ++i) std::memcpy(to[i], from.data + i * from.line, static_cast<size_t>(k) * 2);
  }
}

// Lines that lie next to each other, as columns: pairs are rows.
void read_pairs(const Lines& from, int64_t lines, int64_t k, Words& to) {
  constexpr uint16_t zeros[kSide] = {};
  if (lines < kSide || k < kTileDepth) std::memset(to, 0, sizeof(to));
  for (int64_t p = 0; p < k; p += 2) {
    const uint16_t* even = from.data + p * from.step;
    const uint16_t* odd = p + 1 < k ? even + from.step : zeros;
    if (lines == kSide)
      interleave(even, odd, kSide, to[p / 2]);
    else
      interleave(even, odd, lines, to[p / 2]);
  }
}

void read_any(const Lines& from, int64_t lines, int64_t k, Words& to) {
  std::memset(to, 0, sizeof(to));
  for (int64_t i = 0; i < lines; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      to[i][p / 2] |= static_cast<uint32_t>(from.data[i * from.line + p * from.step]) << (p % 2 * 16);
    }
  }
}

void pack_tile(const Lines& from, int64_t lines, int64_t k, TileOrder order, Words& to) {
  const bool side_by_side = from.line == 1 && from.step != 1;
  const auto read = side_by_side ? read_pairs : from.step == 1 ? read_lines : read_any;
  if (side_by_side == (order == TileOrder::PairsFirst)) return read(from, lines, k, to);
  alignas(64) Words other;
  read(from, lines, k, other);
  turn(other, to);
}

}  // namespace

void pack_tiles(const Lines& from, int64_t lines, int64_t k, TileOrder order, char* to, bool serial) {
  constexpr int64_t kGroup = 2 * kSide;  // lines that share cache lines where they lie side by side
  const int64_t groups = tiles(lines, kGroup), depth = tiles(k, kTileDepth), tile_line = depth * kTileBytes;
  const int64_t grain = serial ? groups : std::max<int64_t>(1, 2048 / depth);
  sdk::parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      for (int64_t p = 0; p < depth; ++p) {
        for (int64_t i = g * kGroup; i < std::min(lines, (g + 1) * kGroup); i += kSide) {
          const Lines at{from.data + i * from.line + p * kTileDepth * from.step, from.line, from.step};
          pack_tile(at, std::min(kSide, lines - i), std::min(kTileDepth, k - p * kTileDepth), order,
                    *reinterpret_cast<Words*>(to + i / kSide * tile_line + p * kTileBytes));
        }
      }
    }
  });
}

}  // namespace tenon::cpu
