// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How the stores of a nest run for the sizes and strides of a call: which loops, which of them is
// along vectors, how large the tiles are, which arrays are copied before, and the kernel's numbers.
// The nest's schedule is followed where it says something.
#pragma once

#include "plugin_llvm/pack.h"
#include "plugin_llvm/spec/spec.h"

namespace tenon::llvm_loops {

struct Plan {
  Spec spec;
  std::vector<Pack> packs;  // arrays that the kernel reads from such copies
  std::vector<int64_t> numbers;
  int64_t items = 0, points_per_item = 0;
  int64_t grain = int64_t{1} << 15;  // points of a task
};

// Stores of a nest over the same named loops.
struct Group {
  int nest = 0;
  std::vector<int> stores;
};
// Empty: a nest mixes assignments and reductions in one group, which is not compiled.
std::vector<Group> groups_of(const lp::Program& program);

// No extent is 0. `placements` by array.
Plan make_plan(const lp::Program& program, const Group& group, const lp::Binding& binding,
               const std::vector<lp::Placement>& placements, int lanes);

}  // namespace tenon::llvm_loops
