// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums of up to kArea rows on a unit of tiles, and how threads acquire such a unit.
#pragma once

#include <algorithm>

#include "plugin_cpu/simd/transpose.h"
#include "plugin_cpu/tiles/pack.h"

namespace tenon::cpu {

inline constexpr int64_t kArea = 128;
inline constexpr int64_t kTilePackBytes = 16
                                          << 20;  // of an operand at once, unless k is very large

// During its lifetime its thread may run blocks.
class TileSession {
 public:
  explicit TileSession(const TileUnit& unit) : unit_(unit) { unit_.configure(); }
  TileSession(const TileSession&) = delete;
  ~TileSession() { unit_.release(); }

 private:
  const TileUnit& unit_;
};

// Whether there is enough for the tiles to be worth filling.
inline bool tiles_pay(int64_t m, int64_t n, int64_t k) {
  return m >= 8 && n >= 8 && k >= 8 && m * n * k >= 16 * 16 * 16;
}

// Packed lines, or those from one of them and one tile of k on; `depth` tiles from 16 lines to the
// next.
struct Packed {
  const char* at;
  int64_t depth;
  int64_t line = 64;  // bytes from line to line; more where A's own memory is read in place
  bool in_place() const { return line != 64; }
  int64_t step() const { return in_place() ? 64 : kTileBytes; }  // bytes from tile to tile along k
  int64_t next() const {
    return in_place() ? kTileLines * line : depth * kTileBytes;
  }  // from 16 lines to the next
  const char* tile(int64_t i, int64_t p) const { return at + i / kTileLines * next() + p * step(); }
  Packed from(int64_t i, int64_t p = 0) const { return {tile(i, p), depth, line}; }
};

template <int64_t kColumns = kArea>
class Area {
 public:
  float* row(int64_t i) { return sum_ + i * kRow; }

  // Lines of `a` by lines of `b` over `depth` tiles of k, added to the sums or overwriting them.
  void multiply(const TileUnit& unit, const Packed& a, const Packed& b, int64_t depth, int64_t rows,
                int64_t cols, bool add) {
    constexpr int64_t kBlock = 2 * kTileLines;
    const int64_t step = tiles(depth, tiles(depth, unit.max_depth));
    for (int64_t p = 0; p < depth; p += step) {
      for (int64_t j = 0; j < cols; j += kBlock) {
        for (int64_t i = 0; i < rows; i += kBlock) {
          const TileBlock block{
              a.tile(i, p), b.tile(j, p), a.next(),     b.next(), std::min(step, depth - p),
              row(i) + j,   kRow,         add || p > 0, a.line,   a.step()};
          unit.block[rows - i > kTileLines][cols - j > kTileLines](block);
        }
      }
    }
  }

  // Writes the transposed sums.
  void transpose_into(Area& to, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; i += 4) {
      for (int64_t j = 0; j < cols; j += 4) transpose_4x4(row(i) + j, kRow, to.row(j) + i, kRow);
    }
  }

 private:
  // Not a power of two, which would map rows to the same cache sets.
  static constexpr int64_t kRow = kColumns + 16;
  alignas(64) float sum_[kArea * kRow];
};

}  // namespace tenon::cpu
