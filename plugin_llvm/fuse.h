// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Assignments that read what the reduction before them stores, each point its own, run where a sum
// is finished: it is in a register there, and its array is not written if nothing else reads it.
#pragma once

#include "plugin_llvm/plan.h"

namespace tenon::llvm_loops {

struct Fused {
  lp::Program program;  // a reduction's nest has the nodes and stores of what runs with it, too
  std::vector<Group> groups;    // what is left to run, in order
  std::vector<bool> unwritten;  // by array: no group stores it
};

Fused fuse(const lp::Program& program, const lp::Binding& binding,
           const std::vector<Group>& groups);

}  // namespace tenon::llvm_loops
