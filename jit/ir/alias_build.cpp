// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The sets of AliasFacts, from nodes and the annotations of schemas: union-find, each set with the
// set of its contents.
#include <map>

#include "jit/ir/alias.h"
#include "tenon/core/op.h"

namespace tenon::jit {

AliasFacts::AliasFacts(const Graph& g) {
  outside_ = new_set();
  contents_[0] = outside_;
  for (const Value* v : g.inputs()) to_outside(v);
  visit(*g.block());
  for (const auto& [n, list] : direct_writes_)
    for (int s : list) written_.insert(find(s));
  add_closure(outside_, escaped_);
  for (const Value* v : g.outputs()) escaped_.merge(sets(v));
}

int AliasFacts::new_set() {
  parents_.push_back(static_cast<int>(parents_.size()));
  contents_.push_back(-1);
  return parents_.back();
}

int AliasFacts::find(int s) const {
  while (parents_[static_cast<std::size_t>(s)] != s) {
    int& p = parents_[static_cast<std::size_t>(s)];
    p = parents_[static_cast<std::size_t>(p)];
    s = p;
  }
  return s;
}

void AliasFacts::unify(int a, int b) {
  a = find(a);
  b = find(b);
  if (a == b) return;
  parents_[static_cast<std::size_t>(b)] = a;
  int& x = contents_[static_cast<std::size_t>(a)];
  int y = contents_[static_cast<std::size_t>(b)];
  if (x < 0)
    x = y;
  else if (y >= 0)
    unify(x, y);
}

int AliasFacts::contents(int s) {
  s = find(s);
  if (contents_[static_cast<std::size_t>(s)] < 0) {
    int inner = new_set();
    contents_[static_cast<std::size_t>(s)] = inner;
  }
  return find(contents_[static_cast<std::size_t>(s)]);
}

namespace {

// Objects, and what may be one: where they point to is not followed.
bool holds_object(const Type& t) {
  switch (t.kind()) {
    case TypeKind::Class:
    case TypeKind::Interface:
    case TypeKind::Future:
    case TypeKind::Generator:
    case TypeKind::Any:
      return true;
    case TypeKind::Optional:
    case TypeKind::Union:
      for (const TypePtr& c : t.contained())
        if (holds_object(*c)) return true;
      return false;
    default:
      return false;
  }
}

bool is_container(const Type& t) {
  switch (t.kind()) {
    case TypeKind::List:
    case TypeKind::Dict:
    case TypeKind::Tuple:
    case TypeKind::AnyList:
    case TypeKind::AnyTuple:
      return true;
    case TypeKind::Optional:
    case TypeKind::Union:
      for (const TypePtr& c : t.contained())
        if (is_container(*c)) return true;
      return false;
    default:
      return false;
  }
}

}  // namespace

int AliasFacts::set_of(const Value* v) {
  auto [it, added] = sets_.try_emplace(v, 0);
  if (added) it->second = holds_object(*v->type()) ? outside_ : new_set();
  return find(it->second);
}

void AliasFacts::alias(const Value* a, const Value* b) {
  if (is_mutable(*a->type()) && is_mutable(*b->type())) unify(set_of(a), set_of(b));
}

void AliasFacts::to_outside(const Value* v) {
  if (is_mutable(*v->type())) unify(outside_, set_of(v));
}

void AliasFacts::visit(const Block& b) {
  for (const Node* n : b.nodes()) visit(*n);
}

void AliasFacts::visit(const Node& n) {
  for (const Value* v : n.outputs())
    if (is_mutable(*v->type())) set_of(v);
  const bool of_host = n.op && n.op->registered && n.kind().rfind("host::", 0) == 0;
  if (n.op && !of_host)
    visit_operator(n);
  else if (of_host)
    visit_unknown(n);
  else if (!visit_plain(n))
    visit_unknown(n);
}

// Nodes that the interpreter knows itself.
bool AliasFacts::visit_plain(const Node& n) {
  const std::string& kind = n.kind();
  if (kind == "prim::If") {
    visit_branches(n);
  } else if (kind == "prim::Loop") {
    visit_loop(n);
  } else if (kind == "prim::ListConstruct" || kind == "prim::TupleConstruct" ||
             kind == "prim::DictConstruct") {
    visit_construct(n);
  } else if (kind == "prim::ListUnpack" || kind == "prim::TupleUnpack" ||
             kind == "prim::TupleIndex") {
    if (is_mutable(*n.input(0)->type()))
      for (const Value* v : n.outputs())
        if (is_mutable(*v->type())) unify(contents(set_of(n.input(0))), set_of(v));
  } else if (kind == "prim::TupleSlice") {
    if (is_mutable(*n.output()->type()))
      unify(contents(set_of(n.input(0))), contents(set_of(n.output())));
  } else if (kind == "prim::unchecked_cast") {
    alias(n.input(0), n.output());
  } else if (kind == "prim::GetAttr" || kind == "prim::CreateObject") {
    to_outside(n.output());
  } else if (kind == "prim::SetAttr") {
    to_outside(n.input(1));
    direct_writes_[&n].push_back(outside_);
  } else if (kind == "prim::Constant") {
    visit_constant(n);
  } else {
    return kind == "prim::Uninitialized" || kind == "prim::isinstance" ||
           kind == "prim::RaiseException";
  }
  return true;
}

// Tensors of one memory are in one set.
void AliasFacts::visit_constant(const Node& n) {
  if (!n.output()->type()->is(TypeKind::Tensor)) return;
  const auto v = to_constant(n.output());
  if (!v || !v->isTensor() || !v->toTensor().defined() || !v->toTensor().has_storage()) return;
  const void* memory = v->toTensor().unsafeGetTensorImpl()->storage.get();
  const auto [at, added] = constants_.emplace(memory, n.output());
  if (!added) alias(at->second, n.output());
}

void AliasFacts::visit_branches(const Node& n) {
  for (const Block* b : n.blocks()) {
    visit(*b);
    for (std::size_t i = 0; i < n.outputs().size(); ++i) alias(n.output(i), b->outputs()[i]);
  }
}

void AliasFacts::visit_loop(const Node& n) {
  const Block& b = *n.block(0);
  visit(b);
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    alias(n.output(i), n.input(i + 2));
    alias(n.output(i), b.inputs()[i + 1]);
    alias(n.output(i), b.outputs()[i + 1]);
  }
}

void AliasFacts::visit_construct(const Node& n) {
  if (!is_mutable(*n.output()->type())) return;
  for (const Value* v : n.inputs())
    if (is_mutable(*v->type())) unify(contents(set_of(n.output())), set_of(v));
}

// A call: whatever it is given may be kept, written and returned.
void AliasFacts::visit_unknown(const Node& n) {
  for (const Block* b : n.blocks()) visit(*b);
  for (const Value* v : n.inputs()) to_outside(v);
  for (const Value* v : n.outputs()) to_outside(v);
  direct_writes_[&n].push_back(outside_);
}

namespace {

// Composites that give an argument itself, or a view of it, for some arguments, though ATen's
// schema does not say so: dropout in evaluation, einsum that permutes, sizes that are there
// already.
bool may_give_argument(std::string_view name) {
  static const std::set<std::string_view> names{"_indices",
                                                "_values",
                                                "alpha_dropout",
                                                "atleast_1d",
                                                "atleast_2d",
                                                "atleast_3d",
                                                "broadcast_tensors",
                                                "cartesian_prod",
                                                "chain_matmul",
                                                "channel_shuffle",
                                                "coalesce",
                                                "combinations",
                                                "diag",
                                                "dropout",
                                                "einsum",
                                                "feature_alpha_dropout",
                                                "feature_dropout",
                                                "index",
                                                "indices",
                                                "meshgrid",
                                                "pad",
                                                "pixel_shuffle",
                                                "pixel_unshuffle",
                                                "positive",
                                                "repeat_interleave",
                                                "sum_to_size",
                                                "to_dense",
                                                "to_sparse",
                                                "type_as",
                                                "unsafe_chunk",
                                                "unsafe_split",
                                                "values"};
  return names.count(name.substr(0, name.find('.'))) != 0;
}

std::vector<std::string> letters(const std::string& sets) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < sets.size();) {
    std::size_t end = std::min(sets.find('|', at), sets.size());
    if (sets.substr(at, end - at) != "*") out.push_back(sets.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

namespace {

// What ATen's schema does not say: batch normalization writes its statistics, but in evaluation.
bool writes_beside_schema(const Node& n, std::size_t i) {
  const core::Op* op = n.op->op;
  if (!op || n.op->form != Operator::Form::Functional || !op->args[i].mutates) return false;
  int flag = n.op->schema.find_argument("training");
  if (flag < 0) flag = n.op->schema.find_argument("use_input_stats");
  if (flag < 0) return true;
  const std::optional<IValue> training = to_constant(n.input(static_cast<std::size_t>(flag)));
  return !training || !training->isBool() || training->toBool();
}

}  // namespace

void AliasFacts::visit_operator(const Node& n) {
  const FunctionSchema& s = n.op->schema;
  std::map<std::string, int> named;
  auto join = [&](const std::string& sets, int set) {
    for (const std::string& letter : letters(sets)) {
      auto [it, added] = named.try_emplace(letter, set);
      if (!added) unify(it->second, set);
    }
  };
  auto annotate = [&](const Argument& a, const Value* v) {
    if (!is_mutable(*v->type())) return;
    join(a.alias.set, set_of(v));
    if (!a.alias.elements.empty()) join(a.alias.elements, contents(set_of(v)));
  };
  const Value* first = n.inputs().empty() ? nullptr : n.input(0);
  for (std::size_t i = 0; i < s.arguments.size() && i < n.inputs().size(); ++i) {
    const Argument& a = s.arguments[i];
    const Value* v = n.input(i);
    annotate(a, v);
    if (!is_mutable(*v->type())) continue;
    if (a.alias.write || writes_beside_schema(n, i)) direct_writes_[&n].push_back(set_of(v));
    if (a.alias.write_elements) direct_writes_[&n].push_back(contents(set_of(v)));
    // It is put into the container that is written.
    bool kept = a.alias.after == "*" && i > 0 && is_container(*first->type());
    if (kept) unify(contents(set_of(first)), set_of(v));
  }
  for (std::size_t i = 0; i < s.returns.size() && i < n.outputs().size(); ++i) {
    annotate(s.returns[i], n.output(i));
    if (is_mutable(*n.output(i)->type())) visit_result(n, s, i);
  }
  if (s.vararg || s.varret) {
    for (const Value* v : n.inputs()) to_outside(v);
    for (const Value* v : n.outputs()) to_outside(v);
  }
}

namespace {

bool has_mutable_parts(const Type& t) {
  for (const TypePtr& c : t.contained())
    if (is_mutable(*c)) return true;
  return false;
}
bool has_containers(const Type& t) {
  for (const TypePtr& c : t.contained())
    if (is_container(*c) && is_mutable(*c)) return true;
  return false;
}

}  // namespace

// What the annotation of a result leaves open.
void AliasFacts::visit_result(const Node& n, const FunctionSchema& s, std::size_t i) {
  const Argument& r = s.returns[i];
  const Value* out = n.output(i);
  bool from_core = n.op->op != nullptr;
  bool given = from_core && r.alias.set.empty() && may_give_argument(n.op->op->name);
  bool element = r.alias.set == "*" || r.type->is(TypeKind::Var);
  bool parts = !from_core && is_container(*out->type()) && has_mutable_parts(*out->type());
  for (std::size_t k = 0; k < n.inputs().size(); ++k) {
    const Value* v = n.input(k);
    if (!is_mutable(*v->type())) continue;
    bool container = is_container(*v->type());
    if (given)
      unify(is_container(*out->type()) ? contents(set_of(out)) : set_of(out),
            container ? contents(set_of(v)) : set_of(v));
    // Of a dictionary one of its values; of a default the default itself.
    bool holds = k < s.arguments.size() && is_container(*s.arguments[k].type);
    if (element) unify(set_of(out), holds ? contents(set_of(v)) : set_of(v));
    if (!parts) continue;
    // A list with the elements of an argument. Where elements have parts, as in items(), they are
    // not told from them.
    unify(contents(set_of(out)), container ? contents(set_of(v)) : set_of(v));
    if (has_containers(*out->type()) || has_containers(*v->type()))
      unify(contents(set_of(out)), contents(contents(set_of(out))));
  }
}

}  // namespace tenon::jit
