// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/tiles/pack.h"

#include <algorithm>
#include <cstring>

#include "plugin_cpu/simd/transpose.h"
#include "plugin_cpu/tiles/lines.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kSide = 16;  // lines and pairs of a tile
static_assert(kSide * kSide * 4 == kTileBytes && kSide == kTileLines && 2 * kSide == kTileDepth,
              "");

using Words = uint32_t[kSide][kSide];

void transpose_words(const Words& from, Words& to) {
  for (int i = 0; i < kSide; i += 4) {
    for (int j = 0; j < kSide; j += 4) transpose_4x4(&from[i][j], kSide, &to[j][i], kSide);
  }
}

// Lines that are contiguous in k, as rows.
void read_lines(const Lines& from, int64_t lines, int64_t k, Words& to) {
  if (lines == kSide && k == kTileDepth)
    return copy_lines(from.data, from.line, reinterpret_cast<char*>(to));
  std::memset(to, 0, sizeof(to));
  for (int64_t i = 0; i < lines; ++i)
    std::memcpy(to[i], from.data + i * from.line, static_cast<size_t>(k) * 2);
}

// Lines that lie next to each other, as columns: pairs are rows.
void read_pairs(const Lines& from, int64_t lines, int64_t k, Words& to) {
  constexpr uint16_t zeros[kSide] = {};
  if (lines < kSide || k < kTileDepth) std::memset(to, 0, sizeof(to));
  for (int64_t p = 0; p < k; p += 2) {
    const uint16_t* even = from.data + p * from.step;
    const uint16_t* odd = p + 1 < k ? even + from.step : zeros;
    interleave(even, odd, lines, to[p / 2]);
  }
}

void read_any(const Lines& from, int64_t lines, int64_t k, Words& to) {
  std::memset(to, 0, sizeof(to));
  for (int64_t i = 0; i < lines; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      to[i][p / 2] |= static_cast<uint32_t>(from.data[i * from.line + p * from.step])
                      << (p % 2 * 16);
    }
  }
}

bool side_by_side(const Lines& from) { return from.line == 1 && from.step != 1; }

void pack_tile(const Lines& from, int64_t lines, int64_t k, TileOrder order, Words& to) {
  const auto read = side_by_side(from) ? read_pairs : from.step == 1 ? read_lines : read_any;
  if (side_by_side(from) == (order == TileOrder::PairsFirst)) return read(from, lines, k, to);
  alignas(64) Words other;
  read(from, lines, k, other);
  transpose_words(other, to);
}

// Two whole tiles of lines side by side, which share cache lines.
void pack_two(const Lines& from, TileOrder order, char* to, char* second) {
  if (order == TileOrder::PairsFirst) return pair_lines(from.data, from.step, to, second);
  alignas(64) Words other[2];
  pair_lines(from.data, from.step, reinterpret_cast<char*>(other[0]),
             reinterpret_cast<char*>(other[1]));
  transpose_words(other[0], *reinterpret_cast<Words*>(to));
  transpose_words(other[1], *reinterpret_cast<Words*>(second));
}

constexpr int64_t kGroup = 2 * kSide;  // lines that share cache lines where they lie side by side

// A group of up to kGroup lines over one tile of k; `next` bytes to the tile of the second 16.
void pack_group(const Lines& from, int64_t lines, int64_t k, TileOrder order, char* to,
                int64_t next) {
  if (side_by_side(from) && lines >= kGroup && k >= kTileDepth)
    return pack_two(from, order, to, to + next);
  for (int64_t i = 0; i < std::min(lines, kGroup); i += kSide, to += next) {
    const Lines at{from.data + i * from.line, from.line, from.step};
    pack_tile(at, std::min(kSide, lines - i), std::min(kTileDepth, k), order,
              *reinterpret_cast<Words*>(to));
  }
}

}  // namespace

void pack_tiles(const Lines& from, int64_t lines, int64_t k, TileOrder order, char* to,
                bool serial) {
  const int64_t groups = tiles(lines, kGroup), depth = tiles(k, kTileDepth),
                next = depth * kTileBytes;
  const int64_t grain = serial ? groups : std::max<int64_t>(1, 2048 / depth);
  const bool across = side_by_side(from);
  sdk::parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    for (int64_t q = 0; q < count * depth;
         ++q) {  // in the order in which the operand lies in memory
      const int64_t g = begin + (across ? q % count : q / depth),
                    p = across ? q / count : q % depth;
      const int64_t i = g * kGroup, j = p * kTileDepth;
      const Lines at{from.data + i * from.line + j * from.step, from.line, from.step};
      pack_group(at, lines - i, k - j, order, to + 2 * g * next + p * kTileBytes, next);
    }
  });
}

}  // namespace tenon::cpu
