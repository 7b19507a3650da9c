// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A trace keeps the numbers of Python that operators were given, x + 0.5, as constant tensors of
// doubles, or of complex numbers of doubles, without dimensions. To torch they stay numbers: with
// integers they give the default dtype, where a tensor of doubles would give doubles.
#include "jit/formats/wrapped_numbers.h"

#include "tenon/jit/operator.h"
#include "tenon/ops.h"

namespace tenon::jit::formats {
namespace {

// The overload of the node's operator that takes a number as its second argument; null if there is
// none.
const Operator* with_number(const Node& n) {
  const auto& arguments = n.op->schema.arguments;
  for (const Operator* op : operators_named(n.kind())) {
    const auto& others = op->schema.arguments;
    if (others.size() != arguments.size() || !others[1].type->is(TypeKind::Number)) continue;
    bool same = true;
    for (std::size_t i = 0; i < others.size(); ++i)
      same &= i == 1 || (others[i].name == arguments[i].name &&
                         others[i].type->kind() == arguments[i].type->kind());
    if (same) return op;
  }
  return nullptr;
}

std::optional<IValue> number_of(const Value* v) {
  const std::optional<IValue> c = to_constant(v);
  if (!c || !c->isTensor() || !c->toTensor().defined()) return std::nullopt;
  const Tensor& t = c->toTensor();
  if (t.dim() != 0 || !t.device().is_cpu()) return std::nullopt;
  if (t.scalar_type() == kDouble) return t.item<double>();
  if (t.scalar_type() == kComplexDouble) return IValue(t.item<core::complex<double>>());
  return std::nullopt;
}

bool rewrite(const Block& b) {
  bool changed = false;
  for (Node* n : b.nodes()) {
    for (const Block* inner : n->blocks()) changed |= rewrite(*inner);
    if (!n->op || n->inputs().size() < 2 || n->inputs().size() != n->op->schema.arguments.size() ||
        n->op->schema.arguments[1].alias.write)
      continue;
    const std::optional<IValue> number = number_of(n->input(1));
    const Operator* op = number ? with_number(*n) : nullptr;
    if (!op) continue;
    Graph& g = *n->graph();
    const Graph::InsertPoint at(g, n);
    n->replace_input(1, g.insert_constant(*number, n->range));
    n->op = op;
    changed = true;
  }
  return changed;
}

}  // namespace

void unwrap_numbers(Function& f) {
  if (rewrite(*f.graph()->block())) f.set_graph(f.graph());
}

}  // namespace tenon::jit::formats
