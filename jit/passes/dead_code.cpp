// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Marks what is used, from the outputs and the effects backward, and removes the rest. Values of
// prim::If and prim::Loop are marked one by one.
#include <unordered_set>

#include "jit/ir/alias.h"
#include "jit/passes/passes.h"

namespace tenon::jit {
namespace {

class DeadCode {
 public:
  explicit DeadCode(Graph& g) : graph_(g), facts_(g), used_(facts_.escaped()) {}

  bool run() {
    for (const Value* v : graph_.outputs()) mark(v);
    use_constants(*graph_.block());
    mark_effects(*graph_.block());
    drain();
    while (mark_writes(*graph_.block())) drain();
    sweep(*graph_.block());
    return changed_;
  }

 private:
  void mark(const Value* v) {
    if (values_.insert(v).second) pending_.push_back(v);
  }
  void mark(const Node* n) {
    if (!n || !nodes_.insert(n).second) return;
    mark(n->owning_block()->owning_node());
    bool branches = n->is("prim::If"), loop = n->is("prim::Loop");
    std::size_t own = branches ? 1 : loop ? 2 : n->inputs().size();
    for (std::size_t i = 0; i < own; ++i) mark(n->input(i));
    if (loop) mark(n->block(0)->outputs()[0]);
  }
  void drain() {
    while (!pending_.empty()) {
      const Value* v = pending_.back();
      pending_.pop_back();
      used_.merge(facts_.sets(v));
      follow(*v);
    }
  }
  void follow(const Value& v) {
    const Node* n = v.node();
    auto i = static_cast<std::size_t>(v.offset());
    if (n->is("prim::Param")) {
      const Node* owner = n->owning_block()->owning_node();
      if (owner && i > 0) {
        mark(owner->input(i + 1));
        mark(owner->block(0)->outputs()[i]);
      }
      mark(owner);
      return;
    }
    mark(n);
    if (n->is("prim::If")) {
      for (const Block* b : n->blocks()) mark(b->outputs()[i]);
    } else if (n->is("prim::Loop")) {
      mark(n->input(i + 2));
      mark(n->block(0)->outputs()[i + 1]);
    }
  }

  // Tensors that others have, too: those that a recorded function captured.
  void use_constants(const Block& b) {
    for (const Node* n : b.nodes()) {
      if (n->is("prim::Constant")) used_.merge(facts_.sets(n->output()));
      for (const Block* inner : n->blocks()) use_constants(*inner);
    }
  }
  void mark_effects(const Block& b) {
    for (const Node* n : b.nodes()) {
      if (n->blocks().empty() && facts_.has_effects(n)) mark(n);
      for (const Block* inner : n->blocks()) mark_effects(*inner);
    }
  }
  // Writes to memory that is used. Each may make further memory used.
  bool mark_writes(const Block& b) {
    bool found = false;
    for (const Node* n : b.nodes()) {
      for (const Block* inner : n->blocks()) found |= mark_writes(*inner);
      if (!n->blocks().empty() || nodes_.count(n)) continue;
      for (int s : facts_.effects(n).writes) {
        if (!used_.count(s)) continue;
        mark(n);
        found = true;
        break;
      }
    }
    return found;
  }

  // Last first: when a node goes, those that used it are gone.
  void sweep(Block& b) {
    for (Node* n = b.return_node()->prev(); n != b.param_node();) {
      Node* before = n->prev();
      if (!nodes_.count(n)) {
        n->destroy();
        changed_ = true;
      } else if (n->is("prim::If")) {
        sweep_branches(*n);
      } else if (n->is("prim::Loop")) {
        sweep_loop(*n);
      }
      n = before;
    }
  }
  void sweep_branches(Node& n) {
    for (int i = static_cast<int>(n.outputs().size()) - 1; i >= 0; --i) {
      if (values_.count(n.output(static_cast<std::size_t>(i)))) continue;
      for (Block* b : n.blocks()) b->return_node()->remove_input(i);
      n.erase_output(i);
      changed_ = true;
    }
    for (Block* b : n.blocks()) sweep(*b);
  }
  void sweep_loop(Node& n) {
    Block& b = *n.block(0);
    std::vector<int> dead;
    for (int i = static_cast<int>(n.outputs().size()) - 1; i >= 0; --i) {
      auto k = static_cast<std::size_t>(i);
      if (values_.count(n.output(k)) || values_.count(b.inputs()[k + 1])) continue;
      dead.push_back(i);
      b.return_node()->remove_input(i + 1);
    }
    sweep(b);
    for (int i : dead) {
      b.param_node()->erase_output(i + 1);
      n.remove_input(i + 2);
      n.erase_output(i);
      changed_ = true;
    }
  }

  Graph& graph_;
  AliasFacts facts_;
  AliasFacts::Sets used_;  // memory that is read, or seen outside
  std::unordered_set<const Value*> values_;
  std::unordered_set<const Node*> nodes_;
  std::vector<const Value*> pending_;
  bool changed_ = false;
};

}  // namespace

bool eliminate_dead_code(Graph& g) { return DeadCode(g).run(); }

}  // namespace tenon::jit
