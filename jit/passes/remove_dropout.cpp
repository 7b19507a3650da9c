// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "jit/passes/passes.h"
#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

// Outside of training each gives its argument itself.
bool gives_argument(const Node& n) {
  static const std::set<std::string, std::less<>> kinds{"aten::dropout",
                                                        "aten::dropout_",
                                                        "aten::feature_dropout",
                                                        "aten::feature_dropout_",
                                                        "aten::alpha_dropout",
                                                        "aten::alpha_dropout_",
                                                        "aten::feature_alpha_dropout",
                                                        "aten::feature_alpha_dropout_"};
  if (!kinds.count(n.kind()) || n.inputs().size() != 3) return false;
  const std::optional<bool> train = bool_of(n.input(2));
  return train && !*train;
}

bool remove(Block& b) {
  bool changed = false;
  for (Node* n : b.nodes()) {
    for (Block* inner : n->blocks()) changed |= remove(*inner);
    if (!gives_argument(*n)) continue;
    n->output()->replace_all_uses_with(n->input(0));
    n->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool remove_dropout(Graph& g) { return remove(*g.block()); }

}  // namespace tenon::jit
