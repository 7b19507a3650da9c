// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// In-place operators become pure ones where the tensor that they write is known all through: made
// in the block, with all its views there, and returned under one name at most. Uses after the write
// take the new tensor; a write to a view gives the whole with that part exchanged.
#include <algorithm>
#include <unordered_set>

#include "jit/ir/alias.h"
#include "jit/passes/passes.h"
#include "jit/passes/shape_facts.h"
#include "jit/passes/values.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

// relu_ of relu: the functional operator with the same arguments.
const Operator* functional_form(const Node& n) {
  if (!n.op || n.outputs().size() != 1 || n.kind().size() < 3 || n.kind().back() != '_')
    return nullptr;
  const FunctionSchema& s = n.op->schema;
  if (s.arguments.empty() || !s.arguments[0].alias.write) return nullptr;
  for (const Operator* o : operators_named(n.kind().substr(0, n.kind().size() - 1))) {
    const FunctionSchema& f = o->schema;
    if (f.overload != s.overload || f.arguments.size() != s.arguments.size()) continue;
    const bool same = std::equal(
        f.arguments.begin(), f.arguments.end(), s.arguments.begin(),
        [](const Argument& a, const Argument& b) { return same_type(*a.type, *b.type); });
    if (same && f.returns.size() == 1 && f.returns[0].alias.set.empty()) return o;
  }
  return nullptr;
}

// The operator that exchanges the part which a view shows: (base, part, the view's arguments).
const char* scatter_of(const Node& n) {
  if (n.is("aten::select") && n.inputs().size() == 3) return "aten::select_scatter";
  if (n.is("aten::slice") && n.inputs().size() == 5) return "aten::slice_scatter";
  if (n.is("aten::diagonal") && n.inputs().size() == 4) return "aten::diagonal_scatter";
  return nullptr;
}

class Functional {
 public:
  explicit Functional(Graph& g) : graph_(g), facts_(g), shapes_(g) {}

  // One write: what is known of aliases is old after it.
  bool step() { return block(*graph_.block()); }

 private:
  bool block(Block& b) {
    for (Node* n : b.nodes()) {
      for (Block* inner : n->blocks())
        if (block(*inner)) return true;
      const Operator* pure = functional_form(*n);
      if (pure && rewrite(*n, *pure)) return true;
    }
    return false;
  }

  // A tensor that this block makes, all of whose names stand in the block, and that is returned
  // under one of them at most.
  bool is_own(Value* base, const Node& write) {
    const Node& maker = *base->node();
    if (facts_.is_outside(base) || maker.owning_block() != write.owning_block()) return false;
    const bool pure = maker.op && maker.op->op && maker.op->form == Operator::Form::Functional;
    if (!pure || !is_fresh(maker)) return false;
    names_.assign(1, base);
    int returned = 0;
    for (std::size_t i = 0; i < names_.size(); ++i)
      for (const Use& u : names_[i]->uses())
        if (!visit_use(*u.user, write, returned)) return false;
    return true;
  }
  static bool is_fresh(const Node& maker) {
    const auto& returns = maker.op->schema.returns;
    return maker.outputs().size() == 1 && returns.size() == 1 && returns[0].alias.set.empty();
  }
  bool visit_use(const Node& n, const Node& write, int& returned) {
    if (n.is("prim::Return")) return n.owning_block() == graph_.block() && ++returned == 1;
    for (Value* v : n.outputs()) {
      if (!is_mutable(*v->type()) || !facts_.may_contain_alias(names_[0], v)) continue;
      const bool known = scatter_of(n) || functional_form(n);
      if (!known || n.owning_block() != write.owning_block()) return false;
      if (std::find(names_.begin(), names_.end(), v) == names_.end()) names_.push_back(v);
    }
    return true;
  }

  static bool is_used_after(const Value* v, const Node& write) {
    return std::any_of(v->uses().begin(), v->uses().end(),
                       [&](const Use& u) { return is_after(u.user, &write); });
  }
  // Names from before the write that are used after it would show values from before the write. Of
  // a view that is written, the view itself is one.
  bool is_seen_after(const Node& write, const Value* base, bool view) const {
    return std::any_of(names_.begin(), names_.end(), [&](const Value* v) {
      const bool replaced = v == base || (!view && v == write.output());
      const bool before = v == write.output() || !is_after(v->node(), &write);
      return !replaced && before && is_used_after(v, write);
    });
  }

  static bool is_after(const Node* a, const Node* write) {
    while (a->owning_block() != write->owning_block()) a = a->owning_block()->owning_node();
    for (const Node* n = write->next(); n; n = n->next())
      if (n == a) return true;
    return false;
  }
  void replace_after(Value* old, Value* by, const Node& write) {
    for (const Use& u : std::vector<Use>(old->uses()))  // a copy: replacing changes the list
      if (u.user != by->node() && is_after(u.user, &write)) u.user->replace_input(u.index, by);
  }

  bool rewrite(Node& n, const Operator& pure) {
    Value* target = n.input(0);
    Node* view = scatter_of(*target->node()) ? target->node() : nullptr;
    Value* base = view ? view->input(0) : target;
    if (!keeps_tensor(n) || !is_own(base, n) || is_seen_after(n, base, view)) return false;
    const Graph::InsertPoint at(graph_, &n);
    Node* made = graph_.insert(graph_.create(pure.schema.name, n.inputs()));
    made->op = &pure;
    made->range = n.range;
    Value* result = made->output();
    n.output()->replace_all_uses_with(result);
    if (view) {
      std::vector<Value*> inputs{base, result};
      inputs.insert(inputs.end(), view->inputs().begin() + 1, view->inputs().end());
      Node* whole = insert_call(graph_, scatter_of(*view), inputs, n);
      replace_after(base, whole->output(), n);
    }
    replace_after(target, result, n);
    n.destroy();
    return true;
  }

  // The pure operator gives a tensor of the dtype and shape of the one that is written.
  bool keeps_tensor(const Node& n) const {
    static const std::unordered_set<std::string> always{
        "aten::relu_",     "aten::silu_", "aten::hardswish_",  "aten::neg_",  "aten::gelu_",
        "aten::hardtanh_", "aten::elu_",  "aten::leaky_relu_", "aten::zero_", "aten::hardsigmoid_"};
    static const std::unordered_set<std::string> of_floats{
        "aten::sigmoid_", "aten::tanh_", "aten::exp_", "aten::sqrt_",
        "aten::add_",     "aten::sub_",  "aten::mul_", "aten::div_"};
    if (always.count(n.kind())) return true;
    const auto& dtype = shapes_.of(n.input(0)).dtype;
    if (!of_floats.count(n.kind()) || !dtype || !isFloatingType(*dtype)) return false;
    return std::all_of(n.inputs().begin() + 1, n.inputs().end(), [&](const Value* v) {
      return !v->type()->is(TypeKind::Tensor) || shapes_.same_shape_and_dtype(n.input(0), v);
    });
  }

  Graph& graph_;
  AliasFacts facts_;
  ShapeFacts shapes_;
  std::vector<Value*> names_;  // of the tensor that is looked at
};

}  // namespace

bool functionalize(Graph& g) {
  bool changed = false;
  while (Functional(g).step()) changed = true;
  return changed;
}

}  // namespace tenon::jit
