// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers that shapes decide become constants, so that checks of them go.
#include "jit/passes/passes.h"
#include "jit/passes/shape_facts.h"
#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

class Deciding {
 public:
  explicit Deciding(Graph& g) : graph_(g), facts_(g) {}
  bool run() {
    block(*graph_.block());
    return changed_;
  }

 private:
  void block(Block& b) {
    for (Node* n : b.nodes()) {
      for (Block* inner : n->blocks()) block(*inner);
      if (n->outputs().size() != 1 || n->output()->uses().empty()) continue;
      if (n->is("aten::dim")) rank(*n);
      if (n->is("aten::size") && n->inputs().size() == 2) {
        const auto dim = int_of(n->input(1));
        if (dim && *dim < 0) put(*n, facts_.size(n->input(0), *dim));
      }
    }
  }
  // Else it is asked of what the tensor was made of, so that the tensor has a use less.
  void rank(Node& n) {
    const Node* maker = n.input(0)->node();
    const auto known = facts_.rank_given_by(n.output());
    if (known) return put(n, known);
    if (!facts_.usable() || !ShapeFacts::keeps_rank(*maker)) return;
    n.replace_input(0, maker->input(0));
    changed_ = true;
  }
  void put(Node& n, const std::optional<int64_t>& number) {
    if (!number) return;
    const Graph::InsertPoint at(graph_, &n);
    n.output()->replace_all_uses_with(graph_.insert_constant(*number, n.range));
    n.destroy();
    changed_ = true;
  }

  Graph& graph_;
  ShapeFacts facts_;
  bool changed_ = false;
};

}  // namespace

bool decide_shapes(Graph& g) { return Deciding(g).run(); }

}  // namespace tenon::jit
