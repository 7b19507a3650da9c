// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operands of tile units. Seen as lines of k (rows of A, columns of B), an operand is cut into
// tiles of 16 lines by 16 pairs of k; a pair is one 32-bit word. Past the operand's end there are
// zeros.
#pragma once

#include <cstdint>

#include "plugin_cpu/tiles/unit.h"

namespace tenon::cpu {

// Element p of line i is data[i * line + p * step].
struct Lines {
  const uint16_t* data;
  int64_t line, step;
};

enum class TileOrder { LinesFirst, PairsFirst };  // what a tile's rows are: of A lines, of B pairs

inline int64_t tiles(int64_t n, int64_t per) { return (n + per - 1) / per; }

inline void interleave(const uint16_t* even, const uint16_t* odd, int64_t n, uint32_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint32_t>(odd[i]) << 16 | even[i];
}

// What pack_tiles writes for `lines` lines: those of 16 lines follow each other along k.
inline int64_t packed_bytes(int64_t lines, int64_t k) {
  return tiles(lines, kTileLines) * tiles(k, kTileDepth) * kTileBytes;
}

// Runs on core's thread pool, unless `serial` is set.
void pack_tiles(const Lines& from, int64_t lines, int64_t k, TileOrder order, char* to,
                bool serial);

}  // namespace tenon::cpu
