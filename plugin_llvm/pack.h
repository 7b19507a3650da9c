// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Copies of arrays in which other dimensions are the last ones, so that vectors read neighbors.
#pragma once

#include "tenon/sdk/loop_program/c_program.h"

namespace tenon::llvm_loops {

namespace lp = sdk::loop_program;

struct Pack {
  int array = -1;
  lp::Placement to;
};

// Row by row, with the dimensions `last` after all others.
lp::Placement place_last(const lp::Shape& shape, const std::vector<int>& last);

// Elements of `item` bytes from one placement to another, by several threads.
void copy(const lp::Shape& shape, int64_t item, const char* from, const lp::Placement& at, char* to,
          const lp::Placement& there);

}  // namespace tenon::llvm_loops
