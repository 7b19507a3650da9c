// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "jit/ir/alias.h"
#include "jit/ir/print_value.h"
#include "jit/passes/passes.h"

namespace tenon::jit {
namespace {

// Without an operator, but the same for the same inputs.
bool is_pure_kind(const Node& n) {
  static const std::unordered_set<std::string> kinds{
      "prim::Constant",   "prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct",
      "prim::ListUnpack", "prim::TupleUnpack",   "prim::TupleIndex",     "prim::TupleSlice",
      "prim::GetAttr",    "prim::isinstance",    "prim::unchecked_cast"};
  return kinds.count(n.kind()) != 0;
}

// Values that are equal where their texts are.
bool has_exact_text(const Type& t) {
  if (t.is(TypeKind::Tuple) || t.is(TypeKind::List) || t.is(TypeKind::Optional))
    return std::all_of(t.contained().begin(), t.contained().end(),
                       [](const TypePtr& c) { return has_exact_text(*c); });
  return !is_mutable(t) && !t.is(TypeKind::Union);
}

// False: what the node computes has no text.
bool add_attributes(const Node& n, std::string& key) {
  for (const auto& [name, a] : n.attributes()) {
    key += "|" + name + "=";
    if (const auto* v = std::get_if<IValue>(&a)) {
      if (n.is("prim::Constant") && !has_exact_text(*n.output()->type())) return false;
      print_value(key, *v);
    } else if (const auto* text = std::get_if<std::string>(&a)) {
      print_quoted(key, *text);
    } else if (const auto* types = std::get_if<std::vector<TypePtr>>(&a)) {
      for (const TypePtr& t : *types) key += core::join(reinterpret_cast<std::uintptr_t>(t.get()));
    } else {
      return false;
    }
  }
  return true;
}

// Empty: the node is not to be merged.
std::string key_of(const Node& n) {
  std::string key = n.kind();
  key += core::join("|", reinterpret_cast<std::uintptr_t>(n.op));
  for (const Value* v : n.inputs()) key += core::join(",", v->id());
  for (const Value* v : n.outputs()) key += ":" + v->type()->str();
  return add_attributes(n, key) ? key : "";
}

class Merger {
 public:
  explicit Merger(Graph& g) : graph_(g), facts_(g) {}
  bool run() {
    block(*graph_.block());
    return changed_;
  }

 private:
  using Known = std::unordered_map<std::string, Node*>;

  bool can_be_merged(const Node& n) const {
    if (!n.blocks().empty() || !(n.op || is_pure_kind(n))) return false;
    // Without inputs it may tell of a mode, as is_grad_enabled does.
    if (n.op && n.inputs().empty()) return false;
    const AliasFacts::Effects& e = facts_.effects(&n);
    if (e.outside || !e.writes.empty()) return false;
    if (n.is("prim::GetAttr") && facts_.has_writers(n.output())) return false;
    return std::none_of(n.inputs().begin(), n.inputs().end(),
                        [&](const Value* v) { return facts_.has_writers(v); });
  }

  bool escapes(const Value* v) const { return escaped_.count(v) != 0 || facts_.escapes(v); }

  bool merge(Node& n, Node& first) {
    for (std::size_t i = 0; i < n.outputs().size(); ++i) {
      const Value *a = first.output(i), *b = n.output(i);
      if (!is_mutable(*a->type())) continue;
      if (facts_.has_writers(a) || facts_.has_writers(b)) return false;
      // Attributes are seen outside in any case, and are the same object.
      if (escapes(a) && escapes(b) && !n.is("prim::GetAttr")) return false;
    }
    for (std::size_t i = 0; i < n.outputs().size(); ++i) {
      if (escapes(n.output(i))) escaped_.insert(first.output(i));
      n.output(i)->replace_all_uses_with(first.output(i));
    }
    n.destroy();
    return true;
  }

  Node* find(const std::string& key) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto it = scope->find(key); it != scope->end()) return it->second;
    return nullptr;
  }

  void block(Block& b) {
    scopes_.emplace_back();
    for (Node* n : b.nodes()) {
      // What comes after may compute under other modes.
      if (facts_.effects(n).barrier)
        for (Known& scope : scopes_) scope.clear();
      for (Block* inner : n->blocks()) block(*inner);
      if (can_be_merged(*n)) visit(*n);
    }
    scopes_.pop_back();
  }

  void visit(Node& n) {
    std::string key = key_of(n);
    if (key.empty()) return;
    Node* first = find(key);
    if (!first)
      scopes_.back().emplace(std::move(key), &n);
    else
      changed_ |= merge(n, *first);
  }

  Graph& graph_;
  AliasFacts facts_;
  std::vector<Known> scopes_;
  std::unordered_set<const Value*> escaped_;  // what was merged makes escape
  bool changed_ = false;
};

}  // namespace

bool eliminate_common_subexpressions(Graph& g) { return Merger(g).run(); }

}  // namespace tenon::jit
