// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What is forked and only waited for is computed where it is forked.
#include <algorithm>
#include <map>

#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"

namespace tenon::jit {
namespace {

class Forks final : public NodePass {
 public:
  explicit Forks(Graph& g) : NodePass(g) {}

 private:
  void visit(Node& n) override {
    if (!n.is("prim::fork") || !n.has("Subgraph")) return;
    const std::vector<Use> uses = n.output()->uses();
    const auto waits = [](const Use& u) { return u.user->is("aten::wait"); };
    if (!std::all_of(uses.begin(), uses.end(), waits)) return;
    const auto sub = std::get<std::shared_ptr<Graph>>(n.attribute("Subgraph"))->copy();
    if (sub->inputs().size() != n.inputs().size() || sub->outputs().size() != 1) return;
    Forks(*sub).run();
    std::map<const Value*, Value*> map;
    for (std::size_t i = 0; i < n.inputs().size(); ++i) map[sub->inputs()[i]] = n.input(i);
    const Graph::InsertPoint at(graph_, &n);
    Value* result = graph_.inline_block(*sub->block(), map)[0];
    for (const Use& u : uses) {
      u.user->output()->replace_all_uses_with(result);
      waits_.push_back(u.user);
    }
    forks_.push_back(&n);
    changed_ = true;
  }

 public:
  // Nodes that the walk has still before it stay until its end.
  bool run() {
    NodePass::run();
    for (Node* n : waits_) n->destroy();
    for (Node* n : forks_) n->destroy();
    return changed_;
  }

 private:
  std::vector<Node*> waits_, forks_;
};

}  // namespace

bool lower_forks(Graph& g) { return Forks(g).run(); }

}  // namespace tenon::jit
