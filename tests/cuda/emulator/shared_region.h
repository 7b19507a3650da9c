// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An array in the shared memory of a block, and the last accesses to its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::emulator {

// A thread at a point in time: its accesses before the last barrier of its block, or of its warp,
// are ordered before all later ones of the block, or of the warp.
struct Moment {
  int32_t thread = -1;
  int32_t warp = -1;
  uint32_t block_epoch = 0;
  uint32_t warp_epoch = 0;
};

class SharedRegion {
 public:
  SharedRegion(std::string name, std::size_t bytes)
      : name(std::move(name)), data(bytes), cells(bytes) {}
  struct Cell {
    Moment writer, reader;
    bool written = false;
    bool atomic = false;        // the last write was atomic
    bool many_readers = false;  // of several warps; `reader` is the last one
  };
  std::string name;
  std::vector<char> data;
  std::vector<Cell> cells;  // an element uses the cell of its first byte

  void reset() { cells.assign(cells.size(), Cell{}); }
};

}  // namespace tenon::emulator
