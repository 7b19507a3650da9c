// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The class, the object and the unit of a frozen module.
#include <algorithm>

#include "jit/frozen/freezer.h"

namespace tenon::jit {
namespace {

std::string free_name(const CompilationUnit& unit, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; unit.find_type(name); ++i) name = core::join(wanted, "_", i);
  return name;
}

}  // namespace

// Whether an attribute of it, or of a module in it, is kept.
bool Freezer::is_needed(const Object& o) const {
  if (whole_.count(&o)) return true;
  std::set<const Object*> seen{&o};
  std::vector<const Object*> todo{&o};
  while (!todo.empty()) {
    const Object* next = todo.back();
    todo.pop_back();
    for (std::size_t i = 0; i < next->slots.size(); ++i) {
      if (kept_.count({next, static_cast<int>(i)})) return true;
      const IValue& v = next->slots[i];
      if (v.isModule() && seen.insert(v.toObject().get()).second)
        todo.push_back(v.toObject().get());
    }
  }
  return false;
}

// All in one copy: what shares memory goes on to.
void Freezer::add_kept_values() {
  std::vector<IValue> all;
  for (const Key& k : kept_)
    if (!whole_.count(k.first))
      all.push_back(k.first->slots.at(static_cast<std::size_t>(k.second)));
  const IValue copies =
      IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(all)))).deepcopy();
  std::size_t i = 0;
  for (const Key& k : kept_)
    if (!whole_.count(k.first)) values_[k] = copies.toTupleRef().items[i++];
}

core::Ref<ivalue::Object> Freezer::make_object(const Object& from) {
  if (auto it = new_objects_.find(&from); it != new_objects_.end()) return it->second;
  const ClassType& cls = class_of(from);
  if (whole_.count(&from)) {
    auto shared = core::Ref<Object>::share(const_cast<Object*>(&from));
    return new_objects_[&from] = IValue(std::move(shared)).deepcopy().toObject();
  }
  const ClassTypePtr made = ClassType::make(free_name(*unit_, cls.name()), true);
  unit_->add_type(made);
  auto object = core::Ref<Object>::adopt(new Object(made, 0));
  new_objects_[&from] = object;
  for (std::size_t i = 0; i < from.slots.size() && i < cls.attributes().size(); ++i) {
    const ClassAttribute& a = cls.attributes()[i];
    const IValue& v = from.slots[i];
    if (auto kept = values_.find({&from, static_cast<int>(i)}); kept != values_.end()) {
      made->add_attribute(a.name, a.type, a.kind);
      object->setAttr(a.name, kept->second);
    } else if (v.isModule() && is_needed(*v.toObject())) {
      core::Ref<Object> inner = make_object(*v.toObject());
      made->add_attribute(a.name, static_cast<const ClassType&>(*inner->type).self());
      object->setAttr(a.name, IValue(std::move(inner)));
    }
  }
  return object;
}

// Objects get their new classes; reads of those that are gone go.
void Freezer::use_types(Block& b) {
  auto adapt = [&](Value* v) {
    auto it = objects_.find(v);
    if (it == objects_.end() || whole_.count(it->second)) return;
    auto made = new_objects_.find(it->second);
    if (made != new_objects_.end()) v->set_type(class_of(*made->second).self());
  };
  for (Value* v : b.inputs()) adapt(v);
  for (Node* n = b.return_node()->prev(); n != b.param_node();) {
    Node* before = n->prev();
    for (Block* inner : n->blocks()) use_types(*inner);
    if (n->has("Subgraph")) {
      Graph& g = *std::get<std::shared_ptr<Graph>>(n->attribute("Subgraph"));
      use_types(*g.block());
      for (std::size_t i = n->inputs().size(); i-- > 0;) {
        if (!objects_.count(g.inputs()[i]) || !g.inputs()[i]->uses().empty()) continue;
        g.block()->param_node()->erase_output(static_cast<int>(i));
        n->remove_input(static_cast<int>(i));
      }
    }
    for (Value* v : n->outputs()) adapt(v);
    if (n->is("prim::GetAttr") && n->output()->uses().empty()) n->destroy();
    n = before;
  }
}

void Freezer::make_methods(const ClassTypePtr& cls) {
  unit_->keep(module_.unit());
  for (const TypePtr& t : module_.unit()->types())
    if (t->is(TypeKind::Enum) && !unit_->find_type(t->name())) unit_->add_type(t);
  for (const Method& m : made_) {
    FunctionSchema schema = m.from->schema();
    const std::string name = cls->name() + "." + std::string(m.from->name());
    schema.name = name;
    if (!schema.arguments.empty()) schema.arguments[0].type = cls;
    cls->add_method(unit_->add_function(std::make_unique<Function>(name, m.graph, schema)));
  }
  const ClassType& old = class_of(*self_);
  cls->forward_pre_hooks = old.forward_pre_hooks;
  cls->forward_hooks = old.forward_hooks;
}

}  // namespace tenon::jit
