// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A graph as a flat list of instructions over numbered slots, last uses known. One plan may run on
// many threads: each run has its own slots.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/jit/graph.h"
#include "tenon/jit/limits.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {

class Function;

class Plan {
 public:
  explicit Plan(std::shared_ptr<const Graph> graph);
  ~Plan();
  // Takes the graph's inputs off the stack and puts its outputs there. An error gets the place in
  // the program added, in the form of an ErrorReport, and keeps its class.
  void run(Stack& stack) const;
  std::string str() const;  // the instructions, for people
  struct Code;              // jit/run/code.h

 private:
  std::unique_ptr<const Code> code_;
};

}  // namespace tenon::jit
