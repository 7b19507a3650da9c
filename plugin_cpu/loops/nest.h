// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One nest of a loop program over memory, block by block: a block is a run of the innermost loop
// whose values stay in the first cache. Blocks are shared out to threads; each is computed in one
// order, so that results do not depend on how many threads there are.
#pragma once

#include <vector>

#include "plugin_cpu/loops/operations.h"
#include "tenon/sdk/loop_program/bind.h"

namespace tenon::cpu::loop_program {

namespace lp = sdk::loop_program;

// Memory of an array; strides in bytes.
struct Memory {
  char* data = nullptr;
  std::vector<int64_t> strides;
};

// Whether run_nest() can: else the program is left to the decomposition.
bool takes(const lp::Program& program, const lp::Nest& nest);

void run_nest(const lp::Program& program, const lp::Binding& binding, std::size_t nest,
              const std::vector<Memory>& arrays);

}  // namespace tenon::cpu::loop_program
