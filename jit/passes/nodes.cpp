// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/nodes.h"

#include <algorithm>

#include "tenon/jit/operator.h"

namespace tenon::jit {

bool is_in(const Node* n, const Block& around) {
  for (const Block* b = n->owning_block(); b;) {
    if (b == &around) return true;
    b = b->owning_node() ? b->owning_node()->owning_block() : nullptr;
  }
  return false;
}

bool is_in(const Node* n, const Node& around) {
  return std::any_of(around.blocks().begin(), around.blocks().end(),
                     [n](const Block* b) { return is_in(n, *b); });
}

bool is_after(const Node* user, const Node& n) {
  while (user->owning_block() != n.owning_block()) {
    user = user->owning_block()->owning_node();
    if (!user) return false;
  }
  const Node* end = n.owning_block()->return_node();
  const Node* later = n.next();
  while (later != user && later != end) later = later->next();
  return later == user;
}

bool writes_tensor(const Node& n, std::size_t argument) {
  return n.op && argument < n.op->schema.arguments.size() &&
         n.op->schema.arguments[argument].alias.write &&
         n.input(argument)->type()->is(TypeKind::Tensor);
}

bool gives_view(const Node& n) {
  return n.op && std::any_of(n.op->schema.returns.begin(), n.op->schema.returns.end(),
                             [](const Argument& r) { return !r.alias.set.empty(); });
}

}  // namespace tenon::jit
