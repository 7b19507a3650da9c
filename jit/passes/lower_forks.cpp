// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What is forked and only waited for is computed where it is forked. So it is with futures in
// lists, if the graph neither takes nor gives any: then each future is its value.
#include <algorithm>
#include <map>

#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "tenon/jit/type.h"

namespace tenon::jit {
namespace {

bool holds_future(const TypePtr& t) {
  if (!t) return false;
  const auto& parts = t->contained();
  return t->is(TypeKind::Future) || std::any_of(parts.begin(), parts.end(), holds_future);
}

// The type of the values; of containers that have no name.
TypePtr without_futures(const TypePtr& t) {
  if (!holds_future(t)) return t;
  std::vector<TypePtr> parts;
  for (const TypePtr& part : t->contained()) parts.push_back(without_futures(part));
  if (t->is(TypeKind::Future)) return parts[0];
  if (t->is(TypeKind::List)) return Type::list(parts[0]);
  if (t->is(TypeKind::Optional)) return Type::optional(parts[0]);
  if (t->is(TypeKind::Dict)) return Type::dict(parts[0], parts[1]);
  if (t->is(TypeKind::Tuple) && t->name().empty()) return Type::tuple(parts);
  return nullptr;
}

using Values = std::vector<Value*>;

bool is_known(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](const Value* v) {
    return !v->type() || without_futures(v->type()) != nullptr;
  });
}

const Graph& subgraph_of(const Node& fork) {
  return *std::get<std::shared_ptr<Graph>>(fork.attribute("Subgraph"));
}

// Whether each future is made by a fork, and given to nothing but containers and waits.
bool are_values(const Block& b) {
  const auto nodes = b.nodes();
  return is_known(b.inputs()) && std::all_of(nodes.begin(), nodes.end(), [](const Node* n) {
           const auto blocks = n->blocks();
           const bool gives = std::any_of(n->outputs().begin(), n->outputs().end(),
                                          [](const Value* v) { return holds_future(v->type()); });
           const bool made = !n->is("prim::GetAttr") && !n->is("prim::CallMethod") &&
                             !n->is("prim::CallFunction") && !n->is("prim::Constant");
           const bool forks = n->is("prim::fork") && n->has("Subgraph");
           return (!gives || made) && is_known(n->outputs()) &&
                  (!forks || are_values(*subgraph_of(*n).block())) &&
                  std::all_of(blocks.begin(), blocks.end(),
                              [](const Block* inner) { return are_values(*inner); });
         });
}

bool are_values(const Graph& g) {
  const auto of_future = [](const Value* v) { return holds_future(v->type()); };
  return std::none_of(g.inputs().begin(), g.inputs().end(), of_future) &&
         std::none_of(g.outputs().begin(), g.outputs().end(), of_future) && are_values(*g.block());
}

// Each future is its value by now.
void use_values(Block& b) {
  const auto retype = [](const Values& values) {
    for (Value* v : values)
      if (holds_future(v->type())) v->set_type(without_futures(v->type()));
  };
  retype(b.inputs());
  for (Node* n : b.nodes()) {
    retype(n->outputs());
    for (Block* inner : n->blocks()) use_values(*inner);
    if (!n->is("aten::wait")) continue;
    n->output()->replace_all_uses_with(n->input(0));
    n->destroy();
  }
}

class Forks final : public NodePass {
 public:
  Forks(Graph& g, bool values) : NodePass(g), values_(values) {}

 private:
  void visit(Node& n) override {
    if (!n.is("prim::fork") || !n.has("Subgraph")) return;
    const std::vector<Use> uses = n.output()->uses();
    const auto waits = [](const Use& u) { return u.user->is("aten::wait"); };
    if (!values_ && !std::all_of(uses.begin(), uses.end(), waits)) return;
    const auto sub = subgraph_of(n).copy();
    if (sub->inputs().size() != n.inputs().size() || sub->outputs().size() != 1) return;
    Forks(*sub, values_).run();
    std::map<const Value*, Value*> map;
    for (std::size_t i = 0; i < n.inputs().size(); ++i) map[sub->inputs()[i]] = n.input(i);
    const Graph::InsertPoint at(graph_, &n);
    Value* result = graph_.inline_block(*sub->block(), map)[0];
    if (values_) n.output()->replace_all_uses_with(result);
    for (const Use& u : values_ ? std::vector<Use>() : uses) {
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
  bool values_;
  std::vector<Node*> waits_, forks_;
};

}  // namespace

bool lower_forks(Graph& g) {
  const bool values = are_values(g);
  const bool changed = Forks(g, values).run();
  if (changed && values) use_values(*g.block());
  return changed;
}

}  // namespace tenon::jit
