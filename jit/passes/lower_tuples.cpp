// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tuples that branches give and loops carry become their elements: what is left of tuples then is
// what the program takes, returns, or puts into containers.
#include <algorithm>

#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"

namespace tenon::jit {
namespace {

bool is_plain_tuple(const Value* v) {
  return v->type()->is(TypeKind::Tuple) && !v->type()->contained().empty();
}

class Lowering final : public NodePass {
 public:
  explicit Lowering(Graph& g) : NodePass(g) {}

 private:
  void visit(Node& n) override {
    if (n.is("prim::If"))
      branches(n);
    else if (n.is("prim::Loop"))
      loop(n);
  }

  // What the language writes for a variable that nothing is assigned to yet; nobody reads it.
  static bool is_unset(const Value* v) { return v->node()->is("prim::Uninitialized"); }
  std::vector<Value*> unset(const std::vector<TypePtr>& types, const Node& like) {
    std::vector<Value*> out;
    for (const TypePtr& t : types) {
      Node* n = graph_.insert(graph_.create("prim::Uninitialized", {}));
      n->range = like.range;
      out.push_back(n->output()->set_type(t));
    }
    return out;
  }

  // The elements of a tuple before the insertion point.
  std::vector<Value*> unpack(Value* v, const Node& like) {
    const std::vector<TypePtr>& types = v->type()->contained();
    if (is_unset(v)) return unset(types, like);
    Node* n = graph_.insert(graph_.create("prim::TupleUnpack", {v}, types.size()));
    n->range = like.range;
    for (std::size_t i = 0; i < types.size(); ++i) n->output(i)->set_type(types[i]);
    return n->outputs();
  }
  Value* pack(const std::vector<Value*>& elements, const TypePtr& type, const Node& like) {
    Node* n = graph_.insert(graph_.create("prim::TupleConstruct", elements));
    n->range = like.range;
    return n->output()->set_type(type);
  }

  // In place of output i of a node or input i of a block: its elements, and a tuple of them.
  void replace_outputs(Node& n, std::size_t i, Node* next) {
    Value* old = n.output(i);
    std::vector<Value*> elements;
    for (const TypePtr& t : old->type()->contained()) elements.push_back(n.add_output(t));
    const Graph::InsertPoint at(graph_, next);
    old->replace_all_uses_with(pack(elements, old->type(), n));
    n.erase_output(static_cast<int>(i));
  }
  void replace_results(Block& b, std::size_t i) {
    Node* end = b.return_node();
    const Graph::InsertPoint at(graph_, end);
    const std::vector<Value*> elements = unpack(end->input(i), *end);
    for (Value* v : elements) end->add_input(v);
    end->remove_input(static_cast<int>(i));
  }

  static bool same_tuple(const Value* a, const Value* b) {
    return is_plain_tuple(a) && same_type(*a->type(), *b->type());
  }

  // Whether v has elements when it is read here: it is not unset on the way of a branch or a loop
  // that stays as it is. `own`: the loop that is looked at.
  static bool has_elements(const Value* v, const Node* own) {
    const Node* n = v->node();
    const auto at = [&](const std::vector<Value*>& all) {
      return static_cast<std::size_t>(std::find(all.begin(), all.end(), v) - all.begin());
    };
    if (n->is("prim::If")) {
      const std::size_t i = at(n->outputs());
      return std::all_of(n->blocks().begin(), n->blocks().end(), [&](const Block* b) {
        return same_tuple(v, b->outputs()[i]) && has_elements(b->outputs()[i], own);
      });
    }
    if (n->is("prim::Loop")) return can_lower(*n, at(n->outputs()));
    return n->kind() != "prim::Param" || !n->owning_block()->owning_node() ||
           n->owning_block()->owning_node() == own;
  }
  static bool can_lower(const Node& loop, std::size_t i) {
    const Block& body = *loop.block(0);
    return same_tuple(loop.output(i), loop.input(i + 2)) &&
           same_tuple(loop.output(i), body.inputs()[i + 1]) &&
           same_tuple(loop.output(i), body.outputs()[i + 1]) &&
           has_elements(loop.input(i + 2), nullptr) && has_elements(body.outputs()[i + 1], &loop);
  }

  void branches(Node& n) {
    for (std::size_t i = 0; i < n.outputs().size();) {
      if (!is_plain_tuple(n.output(i)) || !has_elements(n.output(i), nullptr)) {
        ++i;
        continue;
      }
      for (Block* b : n.blocks()) replace_results(*b, i);
      replace_outputs(n, i, n.next());
      changed_ = true;
    }
  }

  void loop(Node& n) {
    Block& body = *n.block(0);
    for (std::size_t i = 0; i < n.outputs().size();) {
      if (!can_lower(n, i)) {
        ++i;
        continue;
      }
      {
        const Graph::InsertPoint at(graph_, &n);
        for (Value* v : unpack(n.input(i + 2), n)) n.add_input(v);
        n.remove_input(static_cast<int>(i) + 2);
      }
      replace_results(body, i + 1);
      replace_outputs(*body.param_node(), i + 1, body.param_node()->next());
      replace_outputs(n, i, n.next());
      changed_ = true;
    }
  }
};

}  // namespace

bool lower_tuples(Graph& g) {
  bool changed = false;
  while (Lowering(g).run()) changed = true;  // of a loop before those of a branch in it
  return changed;
}

}  // namespace tenon::jit
