// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What AliasFacts answers. The sets are made in alias_build.cpp.
#include "jit/ir/alias.h"

#include <algorithm>

namespace tenon::jit {
namespace {

bool intersect(const AliasFacts::Sets& a, const AliasFacts::Sets& b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

bool writes_argument(const FunctionSchema& s) {
  return std::any_of(s.arguments.begin(), s.arguments.end(),
                     [](const Argument& a) { return a.alias.write || a.alias.write_elements; });
}

// Whether argument i, a probability or a mode, is known to be 0 or off.
bool is_off(const Node& n, std::size_t i) {
  const auto known = to_constant(n.input(i));
  if (!known) return false;
  return known->isDouble() ? known->toDouble() == 0 : known->isBool() && !known->toBool();
}

// Attention and recurrent layers draw where they drop elements, as their arguments say.
bool draws(const Node& n) {
  if (n.op->is_random) return true;
  bool drops = false, on = true;
  const auto& arguments = n.op->schema.arguments;
  for (std::size_t i = 0; i < std::min(arguments.size(), n.inputs().size()); ++i) {
    const std::string& name = arguments[i].name;
    if (name == "dropout" || name == "dropout_p") drops = !is_off(n, i);
    if (name == "train") on = !is_off(n, i);
  }
  return drops && on;
}

// What an operator does besides writing its arguments. Those that only write are marked, too.
bool has_outside_effects(const Node& n) {
  return draws(n) || (n.op->has_side_effects && !writes_argument(n.op->schema));
}

// Effects that no other node depends on.
bool keeps_modes(const Node& n) {
  return n.is("prim::Print") || n.is("prim::RaiseException") || n.is("aten::warn") ||
         (n.op && draws(n));
}

bool is_silent(const Node& n) {
  static const std::set<std::string, std::less<>> kinds{
      "prim::Constant",       "prim::Uninitialized",
      "prim::ListConstruct",  "prim::TupleConstruct",
      "prim::DictConstruct",  "prim::ListUnpack",
      "prim::TupleUnpack",    "prim::TupleIndex",
      "prim::TupleSlice",     "prim::GetAttr",
      "prim::SetAttr",        "prim::isinstance",
      "prim::unchecked_cast", "prim::If",
      "prim::Loop",           "prim::Param",
      "prim::Return",         "prim::CreateObject"};
  return kinds.count(n.kind()) != 0;
}

bool uses(const Node& user, const Node& maker) {
  for (const Value* v : maker.outputs())
    for (const Use& u : v->uses()) {
      const Node* n = u.user;
      while (n && n != &user) n = n->owning_block() ? n->owning_block()->owning_node() : nullptr;
      if (n) return true;
    }
  return false;
}

}  // namespace

bool is_mutable(const Type& t) {
  switch (t.kind()) {
    case TypeKind::None:
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Complex:
    case TypeKind::Bool:
    case TypeKind::Number:
    case TypeKind::String:
    case TypeKind::Device:
    case TypeKind::Function:
    case TypeKind::Enum:
    case TypeKind::AnyEnum:
      return false;
    case TypeKind::Optional:
    case TypeKind::Union:
    case TypeKind::Tuple:
      return std::any_of(t.contained().begin(), t.contained().end(),
                         [](const TypePtr& c) { return is_mutable(*c); });
    default:
      return true;
  }
}

void AliasFacts::add_closure(int s, Sets& out) const {
  while (s >= 0 && out.insert(find(s)).second) s = contents_[static_cast<std::size_t>(find(s))];
}

AliasFacts::Sets AliasFacts::sets(const Value* v) const {
  Sets out;
  auto it = sets_.find(v);
  if (it != sets_.end()) add_closure(it->second, out);
  return out;
}

AliasFacts::Effects AliasFacts::compute_effects(const Node& n) const {
  Effects e;
  for (const Value* v : n.inputs()) e.reads.merge(sets(v));
  if (n.is("prim::GetAttr")) e.reads.insert(find(outside_));
  auto direct = direct_writes_.find(&n);
  if (direct != direct_writes_.end())
    for (int s : direct->second) e.writes.insert(find(s));
  e.outside = n.op ? has_outside_effects(n) : !is_silent(n);
  e.barrier = e.outside && !keeps_modes(n);
  for (const Block* b : n.blocks()) {
    for (const Node* inner : b->nodes()) {
      const Effects& i = effects(inner);
      e.reads.insert(i.reads.begin(), i.reads.end());
      e.writes.insert(i.writes.begin(), i.writes.end());
      e.outside |= i.outside;
      e.barrier |= i.barrier;
    }
    for (const Value* v : b->outputs()) e.reads.merge(sets(v));
  }
  return e;
}

const AliasFacts::Effects& AliasFacts::effects(const Node* n) const {
  auto it = effects_.find(n);
  if (it != effects_.end()) return it->second;
  Effects e = compute_effects(*n);
  return effects_[n] = std::move(e);
}

bool AliasFacts::may_alias(const Value* a, const Value* b) const {
  if (a == b) return true;
  auto x = sets_.find(a), y = sets_.find(b);
  return x != sets_.end() && y != sets_.end() && find(x->second) == find(y->second);
}

bool AliasFacts::may_contain_alias(const Value* a, const Value* b) const {
  return intersect(sets(a), sets(b));
}

bool AliasFacts::writes(const Node* n) const { return !effects(n).writes.empty(); }
bool AliasFacts::has_effects(const Node* n) const { return effects(n).outside; }
bool AliasFacts::has_writers(const Value* v) const { return intersect(sets(v), written_); }
bool AliasFacts::escapes(const Value* v) const { return intersect(sets(v), escaped_); }

bool AliasFacts::is_outside(const Value* v) const { return sets(v).count(find(outside_)) != 0; }

bool AliasFacts::can_merge(const Value* a, const Value* b) const {
  if (has_writers(a) || has_writers(b)) return false;
  return !(escapes(a) && escapes(b));
}

namespace {

bool effects_conflict(const AliasFacts::Effects& a, const AliasFacts::Effects& b) {
  return a.barrier || b.barrier || (a.outside && b.outside) || intersect(a.writes, b.writes) ||
         intersect(a.writes, b.reads) || intersect(a.reads, b.writes);
}

// Whether `a` comes before `b`, both in one block.
bool is_before(const Node* a, const Node* b) {
  for (const Node* n = a; n; n = n->next())
    if (n == b) return true;
  return false;
}

}  // namespace

bool AliasFacts::conflict(const Node* a, const Node* b) const {
  const Effects first = effects(a);  // the second may move it
  return effects_conflict(first, effects(b));
}

void AliasFacts::replaced(const Value* old, const Value* by) {
  if (auto it = sets_.find(old); it != sets_.end()) sets_[by] = it->second;
}

bool AliasFacts::can_move(const Node* n, const Node* place) const {
  if (n->owning_block() != place->owning_block() || !place->prev()) return false;
  if (n == place) return true;
  bool down = is_before(n, place);
  const Node* first = down ? n->next() : place;
  const Node* end = down ? place : n;
  const Effects& own = effects(n);
  for (const Node* k = first; k != end; k = k->next()) {
    if (k == n) continue;
    if (down ? uses(*k, *n) : uses(*n, *k)) return false;
    if (effects_conflict(own, effects(k))) return false;
  }
  return true;
}

}  // namespace tenon::jit
