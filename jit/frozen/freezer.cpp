// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From the methods of a module to graphs with constants.
#include "jit/frozen/freezer.h"

#include <algorithm>

#include "jit/ir/alias.h"
#include "jit/passes/passes.h"
#include "jit/passes/run_passes.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

const ivalue::Object* as_module(const IValue& v) {
  return v.isModule() ? v.toObject().get() : nullptr;
}

// The parts of a constant are written as text, which objects do not have.
bool holds_object(const IValue& v) {
  const auto any = [](const std::vector<IValue>& items) {
    return std::any_of(items.begin(), items.end(), holds_object);
  };
  if (v.isList()) return any(v.toListRef().items);
  if (v.isTuple()) return any(v.toTupleRef().items);
  if (v.isGenericDict()) {
    const auto& items = v.toDictRef().items();
    return std::any_of(items.begin(), items.end(),
                       [](const auto& item) { return holds_object(item.second); });
  }
  return v.isObject() || v.isFuture() || v.isGenerator();
}

std::shared_ptr<Graph> subgraph(const Node& n) {
  if (!n.has("Subgraph")) return nullptr;
  const auto* g = std::get_if<std::shared_ptr<Graph>>(&n.attribute("Subgraph"));
  return g ? *g : nullptr;
}

}  // namespace

Freezer::Freezer(const Module& module, const std::vector<std::string>& preserved,
                 bool keep_operators)
    : module_(module), self_(module._ivalue().get()), keep_operators_(keep_operators) {
  const ClassType& cls = class_of(*self_);
  if (Function* f = cls.find_method("forward")) add_method(f);
  for (const auto* hooks : {&cls.forward_pre_hooks, &cls.forward_hooks})
    for (const std::string& name : *hooks) add_method(cls.find_method(name));
  for (const std::string& name : preserved) preserve(name);
  TENON_CHECK(!methods_.empty(), ValueError, "freeze: module ", self_->name(),
              " has no method 'forward'; name the methods that are to stay");
}

void Freezer::add_method(Function* f) {
  if (std::find(methods_.begin(), methods_.end(), f) == methods_.end()) methods_.push_back(f);
}

void Freezer::preserve(const std::string& name) {
  if (Function* f = class_of(*self_).find_method(name)) return add_method(f);
  const Object* o = self_;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const int slot = o->type->find_slot(std::string_view(name).substr(at, end - at));
    TENON_CHECK(slot >= 0, ValueError, "Unknown name: ", name, ": freeze: module ", self_->name(),
                " has no such attribute or method");
    const Object* inner = as_module(o->slots.at(static_cast<std::size_t>(slot)));
    if (end == name.size()) {
      kept_.insert({o, slot});
      if (inner) keep_all(*inner);
    }
    TENON_CHECK(inner || end == name.size(), ValueError, "Unknown name: ", name,
                ": freeze: what is named before a dot must be a module");
    o = inner;
    at = end + 1;
  }
}

void Freezer::keep_all(const Object& o) {
  if (!whole_.insert(&o).second) return;
  found_more_ = true;
  for (std::size_t i = 0; i < o.slots.size(); ++i) {
    kept_.insert({&o, static_cast<int>(i)});
    if (const Object* inner = as_module(o.slots[i])) keep_all(*inner);
  }
}

// An object that is more than a place of attributes.
void Freezer::visit_uses(const Value* v) {
  const Object& o = *objects_.at(v);
  for (const Use& u : v->uses()) {
    const bool attribute =
        u.index == 0 && (u.user->is("prim::GetAttr") || u.user->is("prim::SetAttr"));
    if (!attribute && !u.user->is("prim::fork")) keep_all(o);
  }
}

void Freezer::visit_read(Node& n, const Object& o) {
  const int slot = o.type->find_slot(n.s("name"));
  if (slot < 0) return;
  const Object* inner = as_module(o.slots.at(static_cast<std::size_t>(slot)));
  if (!inner || kept_.count({&o, slot})) return;
  objects_[n.output()] = inner;
  n.output()->set_type(class_of(*inner).self());
}

void Freezer::visit_fork(Node& n) {
  const std::shared_ptr<Graph> g = subgraph(n);
  if (!g) return;
  for (std::size_t i = 0; i < n.inputs().size(); ++i) {
    auto it = objects_.find(n.input(i));
    if (it == objects_.end()) continue;
    const Object* o = it->second;
    objects_[g->inputs().at(i)] = o;
    g->inputs().at(i)->set_type(class_of(*o).self());
  }
  find_objects(*g);
}

void Freezer::find_objects(Block& b) {
  for (Node* n : b.nodes()) {
    for (Block* inner : n->blocks()) find_objects(*inner);
    if (n->is("prim::fork")) visit_fork(*n);
    if (!n->is("prim::GetAttr") && !n->is("prim::SetAttr")) continue;
    auto it = objects_.find(n->input(0));
    if (it == objects_.end()) continue;
    const Object& o = *it->second;
    if (n->is("prim::GetAttr"))
      visit_read(*n, o);
    else if (kept_.insert({&o, o.type->find_slot(n->s("name"))}).second)
      found_more_ = true;
  }
}

// Calls of methods of an interface are known once the object is.
void Freezer::find_objects(Graph& g) {
  auto count_calls = [&] {
    std::size_t n = 0;
    for (const auto& [v, o] : objects_)
      for (const Use& u : v->uses()) n += u.user->is("prim::CallMethod");
    return n;
  };
  std::size_t before;
  do {
    inline_calls(g, keep_operators_);
    find_objects(*g.block());
    before = count_calls();
    inline_calls(g, keep_operators_);
    find_objects(*g.block());
  } while (count_calls() < before);
}

bool Freezer::may_be_constant(const Key& k) const {
  if (kept_.count(k)) return false;
  const IValue& v = k.first->slots.at(static_cast<std::size_t>(k.second));
  return !holds_object(v) && !(v.isTensor() && !v.toTensor().defined());
}

Value* Freezer::insert_constant(Graph& g, const Key& k) {
  const IValue& v = k.first->slots[static_cast<std::size_t>(k.second)];
  const ClassAttribute& a = class_of(*k.first).attributes().at(static_cast<std::size_t>(k.second));
  Graph::InsertPoint at(g, g.block()->param_node()->next());
  if (v.isNone()) return g.insert_constant(IValue());
  TypePtr type = a.type->is(TypeKind::Optional) ? a.type->element() : a.type;
  if (!v.isTensor()) return g.insert_constant(v, {}, std::move(type));
  Tensor& t = detached_[v.toTensor().unsafeGetTensorImpl()];
  if (!t.defined()) t = v.toTensor().detach();
  return g.insert_constant(t, {}, Type::tensor());
}

void Freezer::insert_constants(Block& b, std::map<Key, Value*>& known,
                               std::vector<Constant>& made) {
  for (Node* n : b.nodes()) {
    for (Block* inner : n->blocks()) insert_constants(*inner, known, made);
    if (const auto g = subgraph(*n)) insert_constants(*g);
    if (!n->is("prim::GetAttr")) continue;
    auto it = objects_.find(n->input(0));
    if (it == objects_.end() || objects_.count(n->output())) continue;
    const Key k{it->second, it->second->type->find_slot(n->s("name"))};
    if (k.second < 0) continue;
    if (!may_be_constant(k)) {
      kept_.insert(k);
      continue;
    }
    Value*& v = known[k];
    if (!v) {
      v = insert_constant(*n->graph(), k);
      made.push_back({k, v});
    }
    n->output()->replace_all_uses_with(v);
  }
}

void Freezer::insert_constants(Graph& g) {
  std::map<Key, Value*> known;
  std::vector<Constant> made;
  insert_constants(*g.block(), known, made);
  constants_.emplace_back(g.shared_from_this(), std::move(made));
}

bool Freezer::keep_written() {
  std::set<Key> written;
  std::set<const void*> memory;
  auto memory_of = [](const Key& k) -> const void* {
    const IValue& v = k.first->slots[static_cast<std::size_t>(k.second)];
    return v.isTensor() ? v.toTensor().unsafeGetTensorImpl()->storage.get() : nullptr;
  };
  for (const auto& [g, all] : constants_) {
    const AliasFacts facts(*g);
    for (const Constant& c : all)
      if (is_mutable(*c.value->type()) && facts.has_writers(c.value)) {
        written.insert(c.key);
        if (const void* m = memory_of(c.key)) memory.insert(m);
      }
  }
  for (const auto& [g, all] : constants_)
    for (const Constant& c : all)
      if (memory.count(memory_of(c.key))) written.insert(c.key);
  const std::size_t before = kept_.size();
  kept_.insert(written.begin(), written.end());
  return kept_.size() > before;
}

// Again from the start when an attribute turns out to be written.
void Freezer::build() {
  do {
    found_more_ = false;
    made_.clear();
    objects_.clear();
    constants_.clear();
    for (Function* f : methods_) {
      std::shared_ptr<Graph> g = f->graph()->copy();
      objects_[g->inputs().at(0)] = self_;
      find_objects(*g);
      made_.push_back({f, std::move(g)});
    }
    std::vector<const Value*> values;
    for (const auto& [v, o] : objects_) values.push_back(v);
    for (const Value* v : values) visit_uses(v);
    if (found_more_) continue;
    for (const Method& m : made_) insert_constants(*m.graph);
    // Branches of training write what evaluation does not.
    for (const Method& m : made_) run_passes_repeatedly(*m.graph, frozen_passes(), m.from->name());
    found_more_ = keep_written();
  } while (found_more_);
  TENON_CHECK(!whole_.count(self_), NotImplementedError, "freeze: a method of ", self_->name(),
              " uses the module otherwise than by its attributes and methods, or calls itself");
}

Module Freezer::run() {
  build();
  unit_ = std::make_shared<CompilationUnit>();
  add_kept_values();
  core::Ref<Object> object = make_object(*self_);
  for (const Method& m : made_) use_types(*m.graph->block());
  make_methods(static_cast<const ClassType&>(*object->type).self());
  return Module(std::move(object), unit_);
}

}  // namespace tenon::jit
