// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/frozen/frozen.h"

#include <map>
#include <set>

#include "jit/formats/write.h"

namespace tenon::jit {
namespace {

template <class F>
void each_constant(Block& b, F f) {
  for (Node* n : b.nodes()) {
    for (Block* inner : n->blocks()) each_constant(*inner, f);
    if (n->has("Subgraph"))
      each_constant(*std::get<std::shared_ptr<Graph>>(n->attribute("Subgraph"))->block(), f);
    const auto c = n->is("prim::Constant") ? to_constant(n->output()) : std::nullopt;
    if (c) f(*n, *c);
  }
}

void add_tensors(const IValue& v, std::set<const void*>& seen, std::vector<Tensor>& out) {
  if (v.isTensor()) {
    const Tensor& t = v.toTensor();
    if (t.defined() && seen.insert(t.unsafeGetTensorImpl()).second) out.push_back(t);
  } else if (v.isList()) {
    for (const IValue& item : v.toListRef().items) add_tensors(item, seen, out);
  } else if (v.isTuple()) {
    for (const IValue& item : v.toTupleRef().items) add_tensors(item, seen, out);
  } else if (v.isGenericDict()) {
    for (const auto& item : v.toDictRef().items()) add_tensors(item.second, seen, out);
  }
}

// Only what holds tensors: others are not written where they are constants.
bool holds_tensors(const IValue& v) {
  std::set<const void*> seen;
  std::vector<Tensor> tensors;
  add_tensors(v, seen, tensors);
  return !tensors.empty();
}

}  // namespace

bool is_frozen(const Module& m) {
  return !m.type()->find_attribute("training") && !formats::is_exported(m);
}

std::vector<Tensor> frozen_constants(const Module& m) {
  std::set<const void*> seen;
  std::vector<Tensor> out;
  for (const Method& method : m.get_methods())
    each_constant(*method.graph()->block(),
                  [&](Node&, const IValue& v) { add_tensors(v, seen, out); });
  return out;
}

namespace {

// All in one copy, so that a tensor that is there twice stays one.
void copy_constants(const std::vector<std::shared_ptr<Graph>>& graphs) {
  std::vector<Node*> nodes;
  std::vector<IValue> values;
  for (const auto& g : graphs)
    each_constant(*g->block(), [&](Node& n, const IValue& v) {
      if (!holds_tensors(v)) return;
      nodes.push_back(&n);
      values.push_back(v);
    });
  const IValue all = core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(values)));
  const IValue copies = all.deepcopy();
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i]->set("value", copies.toTupleRef().items[i]);
}

}  // namespace

Module clone_frozen(const Module& m) {
  auto unit = std::make_shared<CompilationUnit>();
  const ClassTypePtr old = m.type(), cls = ClassType::make(old->name(), true);
  unit->add_type(cls);
  for (const TypePtr& t : m.unit()->types())
    if (t->is(TypeKind::Enum)) unit->add_type(t);
  unit->keep(m.unit());
  auto object = core::Ref<ivalue::Object>::adopt(new ivalue::Object(cls, 0));
  const IValue copy = IValue(m._ivalue()).deepcopy();
  for (const ClassAttribute& a : old->attributes()) {
    cls->add_attribute(a.name, a.type, a.kind);
    object->setAttr(a.name, copy.toObject()->getAttr(a.name));
  }
  std::vector<std::shared_ptr<Graph>> graphs;
  for (const Method& method : m.get_methods()) {
    graphs.push_back(method.graph()->copy());
    graphs.back()->inputs().at(0)->set_type(cls);
    FunctionSchema schema = method.function().schema();
    if (!schema.arguments.empty()) schema.arguments[0].type = cls;
    cls->add_method(unit->add_function(std::make_unique<Function>(
        method.function().qualified_name(), graphs.back(), std::move(schema))));
  }
  copy_constants(graphs);
  cls->forward_pre_hooks = old->forward_pre_hooks;
  cls->forward_hooks = old->forward_hooks;
  return Module(std::move(object), std::move(unit));
}

void forget_plans(const Module& m) {
  for (const Method& method : m.get_methods()) method.function().set_graph(method.graph());
}

}  // namespace tenon::jit
