// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How the stores of a nest run for the sizes and strides of a call: which loops, which of them is
// along vectors, how large the tiles are, which arrays are copied before, and the kernel's numbers.
// The nest's schedule is followed where it says something.
#pragma once

#include "plugin_llvm/panels.h"

namespace tenon::llvm_loops {

struct Plan {
  Spec spec;
  std::vector<Pack> packs;  // arrays that the kernel reads from such copies
  std::vector<Panel> panels;
  Blocks blocks;  // if there are panels
  std::vector<int64_t> numbers;
  int64_t items = 0, grain = 1;  // grain: items of a task
};

// Empty: a nest mixes assignments and reductions in one group, which is not compiled.
std::vector<Group> groups_of(const lp::Program& program);

// No extent is 0. `placements` by array. `row`: the nest's loop that is to be outside; -1: none is.
Plan make_plan(const lp::Program& program, const Group& group, const lp::Binding& binding,
               const std::vector<lp::Placement>& placements, int lanes, int row = -1);

}  // namespace tenon::llvm_loops
