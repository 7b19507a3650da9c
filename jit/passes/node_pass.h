// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a pass over every node of a graph begins with.
#pragma once

#include "tenon/jit/graph.h"

namespace tenon::jit {

// Visits the nodes in order, those of the blocks of a node before it.
class NodePass {
 public:
  explicit NodePass(Graph& g) : graph_(g) {}
  bool run() {
    walk(*graph_.block());
    return changed_;
  }

 protected:
  ~NodePass() = default;
  virtual void visit(Node& n) = 0;  // may destroy the node, and sets changed_

  Graph& graph_;
  bool changed_ = false;

 private:
  void walk(Block& b) {
    for (Node* n : b.nodes()) {
      for (Block* inner : n->blocks()) walk(*inner);
      visit(*n);
    }
  }
};

}  // namespace tenon::jit
