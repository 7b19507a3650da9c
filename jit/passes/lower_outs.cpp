// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that write to given outputs become their functional forms and copies into the outputs.
#include <algorithm>

#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/values.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

// The same operator without its last arguments, the outputs.
const Operator* without_outs(const Node& n) {
  if (!n.op || !n.op->op || n.op->form != Operator::Form::Out) return nullptr;
  const auto& given = n.op->schema.arguments;
  for (const Operator* o : operators_named(n.kind())) {
    if (o->op != n.op->op || o->form != Operator::Form::Functional) continue;
    const auto& taken = o->schema.arguments;
    const bool same = taken.size() + n.outputs().size() == given.size() &&
                      o->schema.returns.size() == n.outputs().size() &&
                      std::equal(taken.begin(), taken.end(), given.begin(),
                                 [](const Argument& a, const Argument& b) {
                                   return a.name == b.name && same_type(*a.type, *b.type);
                                 });
    if (same) return o;
  }
  return nullptr;
}

// Made without elements to be an output, and resized by it.
bool is_empty(const Value* out) {
  const Value* sizes = argument(*out->node(), "size");
  const auto known = sizes ? ints_of(sizes) : std::nullopt;
  return known && std::count(known->begin(), known->end(), 0) > 0;
}

class Outs final : public NodePass {
 public:
  explicit Outs(Graph& g) : NodePass(g) {}

 private:
  void visit(Node& n) override {
    const Operator* pure = without_outs(n);
    if (!pure) return;
    const std::size_t n_inputs = pure->schema.arguments.size();
    const auto first_out = n.inputs().begin() + static_cast<std::ptrdiff_t>(n_inputs);
    const std::vector<Value*> inputs(n.inputs().begin(), first_out),
        outs(first_out, n.inputs().end());
    for (const Value* out : outs)
      if (!out->type()->is(TypeKind::Tensor) || (is_empty(out) && !only_user(out))) return;
    const Graph::InsertPoint at(graph_, &n);
    Node* made = graph_.insert(graph_.create(pure->schema.name, inputs, outs.size()));
    made->op = pure;
    made->range = n.range;
    for (std::size_t k = 0; k < outs.size(); ++k) {
      Value* result = made->output(k);
      result->set_type(n.output(k)->type());
      if (!is_empty(outs[k])) {
        Value* at_once = graph_.insert_constant(false);
        result = insert_call(graph_, "aten::copy_", {outs[k], result, at_once}, n)->output();
      }
      n.output(k)->replace_all_uses_with(result);
    }
    n.destroy();
    changed_ = true;
  }
};

}  // namespace

bool lower_outs(Graph& g) { return Outs(g).run(); }

}  // namespace tenon::jit
