// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An object that a block makes, and sets attributes of, is what its attributes were set to. So are
// torch.no_grad and other contexts of archives, once their methods are inlined.
#include <algorithm>
#include <map>

#include "jit/passes/passes.h"

namespace tenon::jit {
namespace {

// The object of one prim::CreateObject.
class Object {
 public:
  explicit Object(Node& made) : made_(made) {}

  // Only attributes are used, and set in the block of the object alone: no branch decides them.
  bool is_local() const {
    return std::all_of(made_.output()->uses().begin(), made_.output()->uses().end(), [&](Use u) {
      if (u.index != 0) return false;
      const bool sets = u.user->is("prim::SetAttr");
      return sets ? u.user->owning_block() == made_.owning_block() : u.user->is("prim::GetAttr");
    });
  }
  // What each read gives; false: one is before any write.
  bool follow() {
    for (Node* n = made_.next(); n != made_.owning_block()->return_node(); n = n->next())
      if (!follow(*n)) return false;
    return true;
  }
  void replace() {
    for (const auto& [read, v] : reads_) {
      read->output()->replace_all_uses_with(v);
      read->destroy();
    }
    for (Node* n : writes_) n->destroy();
    made_.destroy();
  }

 private:
  bool follow(Node& n) {
    for (Block* inner : n.blocks())
      for (Node* m : inner->nodes())
        if (!follow(*m)) return false;
    if (n.inputs().empty() || n.input(0) != made_.output()) return true;
    if (n.is("prim::SetAttr")) {
      values_[n.s("name")] = resolved(n.input(1));
      writes_.push_back(&n);
      return true;
    }
    const auto it = values_.find(n.s("name"));
    if (it == values_.end()) return false;
    reads_.emplace_back(&n, it->second);
    known_[n.output()] = it->second;
    return true;
  }
  // A read that is replaced may itself be written.
  Value* resolved(Value* v) const {
    const auto it = known_.find(v);
    return it == known_.end() ? v : it->second;
  }

  Node& made_;
  std::map<std::string, Value*> values_;
  std::map<const Value*, Value*> known_;
  std::vector<std::pair<Node*, Value*>> reads_;
  std::vector<Node*> writes_;
};

void collect(const Block& b, std::vector<Node*>& objects) {
  for (Node* n : b.nodes()) {
    for (const Block* inner : n->blocks()) collect(*inner, objects);
    if (n->is("prim::CreateObject")) objects.push_back(n);
  }
}

}  // namespace

bool lower_objects(Graph& g) {
  bool changed = false;
  std::vector<Node*> made;
  collect(*g.block(), made);
  for (Node* n : made) {
    Object o(*n);
    if (!o.is_local() || !o.follow()) continue;
    o.replace();
    changed = true;
  }
  return changed;
}

}  // namespace tenon::jit
