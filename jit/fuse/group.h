// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pointwise operators that run as one loop program. A group is a small graph; the first call with
// inputs of a kind runs its operators one by one, learns from that what dtypes they give, and
// writes the program; later calls run that. What is not for a program (gradients, small tensors,
// devices without a kernel for it) always runs operator by operator.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "jit/fuse/build.h"

namespace tenon::jit::fuse {

// Runs a graph on a stack.
using Runner = std::function<void(Stack&)>;
using Planner = std::function<Runner(std::shared_ptr<const Graph>)>;

class Group {
 public:
  Group(std::shared_ptr<const Graph> graph, Planner planner);
  // Takes the inputs of the graph off the stack and puts its outputs there. From any thread.
  void run(Stack& stack) const;

 private:
  struct Entry {
    std::vector<Kind> kinds;
    std::optional<Program> program;  // nothing: operator by operator
  };
  std::shared_ptr<const Entry> find(const std::vector<Kind>& kinds) const;
  void learn(Stack& stack, std::vector<Kind> kinds) const;
  void run_program(Stack& stack, const Entry& entry, const Extent& extent) const;

  std::shared_ptr<const Graph> graph_;
  std::size_t nodes_ = 0;
  Planner planner_;
  Runner plain_;
  mutable std::mutex mutex_;  // fork: only tried; who does not get it runs operator by operator
  mutable Runner observed_;   // gives what each node gives
  mutable std::vector<std::shared_ptr<const Entry>> entries_;
};

}  // namespace tenon::jit::fuse
