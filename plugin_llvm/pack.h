// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Copies of arrays in which other dimensions are the last ones, so that vectors read neighbors.
#pragma once

#include "tenon/sdk/loop_program/c_program.h"

namespace tenon::llvm_loops {

namespace lp = sdk::loop_program;

inline int64_t numel(const lp::Shape& shape) {
  int64_t n = 1;
  for (const int64_t it : shape) n *= it;
  return n;
}

struct Pack {
  int array = -1;
  lp::Placement to;
};

// What one block of the vector loop reads of an array, and one step of each loop outside of it: a
// task copies it when it comes to the block, and reads it from the cache.
struct Panel {
  struct Fixed {
    int dimension, digit;  // whose index is that digit of the block
  };
  int array = -1;
  lp::Shape shape;     // `across`: of a whole block; 1 where an index is fixed
  lp::Shape from, to;  // steps
  int across = -1;     // the dimension of the vector loop
  std::vector<Fixed> fixed;
  int64_t bytes = 0;
};

// Row by row, with the dimensions `last` after all others.
lp::Placement place_last(const lp::Shape& shape, const std::vector<int>& last);

// Elements of `item` bytes from one placement to another, by several threads.
void copy(const lp::Shape& shape, int64_t item, const char* from, const lp::Placement& at, char* to,
          const lp::Placement& there);

// `columns` elements of the dimension `across`, by this thread.
void copy(const Panel& panel, int64_t item, int64_t columns, const char* from, char* to);

}  // namespace tenon::llvm_loops
