// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One array in the shared memory of a block, and who touched which of its bytes when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::emulator {

// A thread at a moment: what it did before the last barrier of its block, or of its warp, is ordered with all that
// others of the block, or of the warp, do now.
struct Moment {
  int32_t thread = -1;
  int32_t warp = -1;
  uint32_t block_epoch = 0;
  uint32_t warp_epoch = 0;
};

class SharedRegion {
 public:
  SharedRegion(std::string name, std::size_t bytes) : name(std::move(name)), data(bytes), cells(bytes) {}
  struct Cell {
    Moment writer, reader;
    bool written = false;
    bool atomic = false;        // the last write was
    bool many_readers = false;  // of several warps; `reader` is the last one
  };
  std::string name;
  std::vector<char> data;
  std::vector<Cell> cells;  // that of an element is the one of its first byte

  void forget() { cells.assign(cells.size(), Cell{}); }
};

}  // namespace tenon::emulator
