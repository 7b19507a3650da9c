// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// bfloat16 products on units of tiles: 16 lines of 64 bytes each, as AMX has them. Such a unit
// multiplies a tile of A, 16 rows by 32 elements of k, by a tile of B, 16 pairs of k by 16 columns,
// and adds to a tile of 16 x 16 floats.
#pragma once

#include <cstdint>

namespace tenon::cpu {

inline constexpr int64_t kTileLines = 16, kTileDepth = 32, kTileBytes = 1024;

// One block of sums: one or two tiles of rows by one or two of columns.
struct TileBlock {
  const char *a, *b;       // `depth` tiles that follow each other along k
  int64_t a_next, b_next;  // bytes to those of the second tile of rows, of columns
  int64_t depth;
  float* sum;
  int64_t sum_row;  // floats from row to row
  bool add;         // to what `sum` holds; else it is overwritten
  int64_t a_line = 64,
          a_step =
              kTileBytes;  // of a: bytes from line to line of a tile, and from tile to tile along k
};

// Blocks run between configure() and release() of the same thread.
struct TileUnit {
  void (*configure)();
  void (*release)();
  void (*block[2][2])(const TileBlock&);  // by tiles of rows and of columns, less one
  int64_t max_depth;  // of a block: what it reads stays near enough, and lines this long in place
  int64_t serial;     // multiply-adds that are not worth waking another thread
};

// Null where the processor, the system or this build has no AMX for bfloat16. The first call
// requests the system's permission.
const TileUnit* amx_unit();
// The same without these checks: null only in builds for other processors. Its instructions trap if
// they cannot run.
const TileUnit* amx_instructions();
// Null where the processor has no AVX512-BF16. Only where the vectors of AVX-512 may be used.
const TileUnit* dot_unit();
// The same arithmetic as AMX's in plain C++, for tests of what is built on a unit.
const TileUnit* emulated_unit();

}  // namespace tenon::cpu
