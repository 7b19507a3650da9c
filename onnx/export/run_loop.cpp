// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A loop of the program, run with the examples: what is after it has the sizes that it gives.
#include "onnx/export/exporter.h"
#include "tenon/jit/unit.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Node;

// The values of outside that the loop and its blocks use, in the order of first use.
std::vector<const jit::Value*> captured(const Node& loop) {
  std::vector<const jit::Value*> values;
  std::set<const jit::Value*> known;
  const auto take = [&](const jit::Value* v) {
    if (known.insert(v).second) values.push_back(v);
  };
  const std::function<void(const jit::Block&)> look = [&](const jit::Block& b) {
    known.insert(b.inputs().begin(), b.inputs().end());
    for (const Node* n : b.nodes()) {
      for (const jit::Value* v : n->inputs()) take(v);
      for (const jit::Block* nested : n->blocks()) look(*nested);
      known.insert(n->outputs().begin(), n->outputs().end());
    }
    for (const jit::Value* v : b.outputs()) take(v);
  };
  for (const jit::Value* v : loop.inputs()) take(v);
  look(*loop.block(0));
  return values;
}

// A function of those values whose result is a tuple of what the loop gives.
jit::Function function_of(const Node& loop, const std::vector<const jit::Value*>& values) {
  const auto graph = std::make_shared<jit::Graph>();
  std::map<const jit::Value*, jit::Value*> inner;
  for (const jit::Value* v : values) inner[v] = graph->add_input("", v->type());
  std::vector<jit::Value*> inputs;
  for (const jit::Value* v : loop.inputs()) inputs.push_back(inner.at(v));
  Node* copy = graph->block()->append(graph->create("prim::Loop", inputs, loop.outputs().size()));
  jit::Block* body = copy->add_block();
  for (const jit::Value* v : loop.block(0)->inputs()) inner[v] = body->add_input("", v->type());
  {
    const jit::Graph::InsertPoint at(*graph, body);
    for (jit::Value* v : graph->inline_block(*loop.block(0), inner)) body->register_output(v);
  }
  std::vector<jit::TypePtr> types;
  for (std::size_t k = 0; k < loop.outputs().size(); ++k)
    types.push_back(copy->output(k)->set_type(loop.output(k)->type())->type());
  Node* all = graph->block()->append(graph->create("prim::TupleConstruct", copy->outputs()));
  graph->register_output(all->output()->set_type(jit::Type::tuple(types)));
  jit::FunctionSchema schema;
  schema.name = "loop";
  schema.returns.push_back({"", jit::Type::tuple(types)});
  return jit::Function("loop", graph, schema);
}

// It does nothing but compute, but for changes of lists.
bool is_pure(const jit::Block& b) {
  for (const Node* n : b.nodes()) {
    if (n->op && n->op->has_side_effects && !changes_list(*n)) return false;
    for (const jit::Block* inner : n->blocks())
      if (!is_pure(*inner)) return false;
  }
  return true;
}

// With memory of its own.
IValue copied(const IValue& v) {
  if (v.isTensor() && v.toTensor().defined()) return v.toTensor().clone();
  if (!is_tensor_list(v)) return v;
  std::vector<IValue> items;
  for (const IValue& t : v.toListRef().items) items.push_back(copied(t));
  return IValue(
      core::Ref<ivalue::List>::adopt(new ivalue::List(v.toListRef().element, std::move(items))));
}

}  // namespace

// A loop over constants is computed here.
bool Exporter::fold_loop(const Node& n, const std::vector<ItemPtr>& lists) {
  // An early return leaves what was not computed unset, and nobody asks for it.
  const auto is_constant = [this](const jit::Value* v) {
    return item(v)->constant || item(v)->unset;
  };
  const std::vector<const jit::Value*> values = captured(n);
  if (!is_pure(*n.block(0)) || !std::all_of(values.begin(), values.end(), is_constant))
    return false;
  const std::optional<std::vector<IValue>> results = run_loop(n, lists);
  if (!results) return false;
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    set(n.output(k), std::make_shared<Item>(Item{results->at(k), true}));
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::size_t depth = lists[i]->depth;
    *lists[i] = Item{results->at(n.outputs().size() + i), true};
    lists[i]->depth = depth;
  }
  return true;
}

// What the loop gives with the examples, and what the lists are after it. Nothing if it cannot be
// run with them, as in a branch that they do not take.
std::optional<std::vector<IValue>> Exporter::run_loop(const Node& loop,
                                                      const std::vector<ItemPtr>& lists) const {
  const bool writes = !is_pure(*loop.block(0));  // what it writes here, the model writes again
  const auto taken = [writes](const IValue& v) { return writes ? copied(v) : v; };
  std::vector<IValue> changed;
  for (const ItemPtr& l : lists) changed.push_back(copy_of_list(taken(l->example)));
  const std::vector<const jit::Value*> values = captured(loop);
  jit::Stack stack;
  for (const jit::Value* v : values) {
    const ItemPtr i = item(v);
    const auto at = std::find(lists.begin(), lists.end(), i);
    stack.push_back(at == lists.end() ? taken(i->example)
                                      : changed[static_cast<std::size_t>(at - lists.begin())]);
  }
  try {
    function_of(loop, values).run(stack);
  } catch (const Error&) {
    return std::nullopt;
  }
  std::vector<IValue> results = stack.back().toTupleRef().items;
  results.insert(results.end(), changed.begin(), changed.end());
  return results;
}

}  // namespace tenon::onnx::exporting
