// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/resolve.h"

#include <algorithm>
#include <map>

#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

using Variables = std::map<std::string, TypePtr>;

// Whether a value of type `given` may stand where the schema says `wanted`.
bool takes(const Type& wanted, const TypePtr& given, Variables& variables) {
  if (wanted.is(TypeKind::Var)) {
    TypePtr& bound = variables[wanted.name()];
    if (!bound) bound = given;
    return is_subtype(*given, *bound);
  }
  if (wanted.is(TypeKind::Optional)) {
    if (given->is(TypeKind::None)) return true;
    return takes(*wanted.element(), given->is(TypeKind::Optional) ? given->element() : given,
                 variables);
  }
  // An optional or numeric element: Tensor?[] takes Tensor[].
  bool generic = wanted.is(TypeKind::List) || wanted.is(TypeKind::Dict) ||
                 wanted.is(TypeKind::Future) || wanted.is(TypeKind::Tuple);
  if (!generic || wanted.kind() != given->kind()) return is_subtype(*given, wanted);
  if (wanted.contained().size() != given->contained().size()) return false;
  for (std::size_t i = 0; i < given->contained().size(); ++i)
    if (!takes(*wanted.contained()[i], given->contained()[i], variables)) return false;
  return true;
}

bool takes(const FunctionSchema& s, const Node& n) {
  std::size_t count = s.arguments.size();
  if (n.inputs().size() < count || (n.inputs().size() > count && !s.vararg)) return false;
  if (!s.varret && s.returns.size() != n.outputs().size() && !n.outputs().empty()) return false;
  Variables variables;
  for (std::size_t i = 0; i < count; ++i)
    if (!takes(*s.arguments[i].type, n.input(i)->type(), variables)) return false;
  return true;
}

void resolve(Block& b) {
  for (Node* n : b.nodes()) {
    for (Block* inner : n->blocks()) resolve(*inner);
    if (n->op) continue;
    for (const Operator* op : operators_named(n->kind())) {
      if (!takes(op->schema, *n)) continue;
      n->op = op;
      break;
    }
  }
}

}  // namespace

void resolve_operators(Graph& g) { resolve(*g.block()); }

}  // namespace tenon::jit
