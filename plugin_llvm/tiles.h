// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How many vectors and how many points of another loop a reduction keeps in registers at once.
#pragma once

#include <cstdint>

namespace tenon::llvm_loops {

struct TileShape {
  int vectors = 1;  // along the loop of vectors
  int points = 1;   // of the other loop
};

// What is known of a reduction along a named vector loop.
struct TileWork {
  int lanes = 16;
  int64_t along = 1;                                      // extent of the loop of vectors
  int64_t across = 1;                                     // extent of the other loop; 1 without one
  int sums = 1;                                           // registers that a vector of sums takes
  int operations = 1;                                     // of a point
  int reads_along = 0, reads_across = 0, reads_both = 0;  // that depend on either loop or on both
};

// The shape of the fewest estimated cycles whose sums and operands fit in the registers.
TileShape choose_tile(const TileWork& work);

}  // namespace tenon::llvm_loops
