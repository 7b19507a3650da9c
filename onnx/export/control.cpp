// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops of a program as If and Loop.
#include "onnx/export/exporter.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Node;

// What a value is outside of the graph that made it.
ItemPtr outside(const Item& inside, std::string name) {
  auto out = std::make_shared<Item>();
  out->example = inside.example;
  out->name = std::move(name);
  return out;
}

}  // namespace

// Writes a block as a graph of its own; what its results are there.
std::vector<ItemPtr> Exporter::walk_branch(const jit::Block& b, pb::GraphProto* to) {
  to->set_name(fresh("graph"));
  graphs_.push_back({to, {}});
  walk(b);
  std::vector<ItemPtr> results;
  for (const jit::Value* v : b.outputs()) {
    try {
      const ItemPtr i = item(v);
      const std::string name = own(*i);
      add_value_info(to->add_output(), name, *i, true);
      results.push_back(outside(*i, name));
    } catch (...) {
      graphs_.pop_back();
      throw;
    }
  }
  graphs_.pop_back();
  return results;
}

void Exporter::visit_if(const Node& n) {
  const ItemPtr condition = item(n.input(0));
  const bool value = condition->example.isTensor() ? condition->example.toTensor().item<bool>()
                                                   : condition->example.toBool();
  if (condition->constant) {
    const jit::Block& taken = *n.block(value ? 0 : 1);
    walk(taken);
    for (std::size_t k = 0; k < n.outputs().size(); ++k) set(n.output(k), item(taken.outputs()[k]));
    return;
  }
  const std::string name = name_of(*condition);
  pb::GraphProto branches[2];
  std::vector<ItemPtr> results[2];
  for (int k = 0; k < 2; ++k) results[k] = walk_branch(*n.block(k), &branches[k]);
  const Names outputs = node("If", {name}, {}, n.outputs().size());
  pb::NodeProto* made = graphs_.back().graph->mutable_node(graphs_.back().graph->node_size() - 1);
  for (int k = 0; k < 2; ++k) {
    pb::AttributeProto* to = made->add_attribute();
    to->set_name(k == 0 ? "then_branch" : "else_branch");
    to->set_type(pb::AttributeProto::GRAPH);
    to->mutable_g()->Swap(&branches[k]);
  }
  for (std::size_t k = 0; k < outputs.size(); ++k)
    set(n.output(k), outside(*results[value ? 0 : 1].at(k), outputs[k]));
}

// The body runs once with the examples, for dtypes and ranks.
void Exporter::visit_loop(const Node& n) {
  const std::string trips = name_of(*item(n.input(0))), condition = name_of(*item(n.input(1)));
  const jit::Block& body = *n.block(0);
  pb::GraphProto graph;
  graph.set_name(fresh("body"));
  Names inputs{trips, condition};
  graphs_.push_back({&graph, {}});
  const auto add_input = [&](const jit::Value* v, const IValue& example) {
    auto i = std::make_shared<Item>();
    i->example = example;
    i->name = fresh(v ? "carried" : "condition");
    graphs_.back().made.insert(i->name);
    add_value_info(graph.add_input(), i->name, *i, true);
    if (v) set(v, i);
  };
  add_input(body.inputs().at(0), int64_t{0});
  add_input(nullptr, true);
  for (std::size_t k = 2; k < n.inputs().size(); ++k)
    add_input(body.inputs().at(k - 1), item(n.input(k))->example);
  walk(body);
  std::vector<ItemPtr> results;
  try {
    for (const jit::Value* v : body.outputs()) {
      const ItemPtr i = item(v);
      const std::string name = own(*i);
      add_value_info(graph.add_output(), name, *i, true);
      results.push_back(i);
    }
  } catch (...) {
    graphs_.pop_back();
    throw;
  }
  graphs_.pop_back();
  for (std::size_t k = 2; k < n.inputs().size(); ++k) inputs.push_back(name_of(*item(n.input(k))));
  const Names outputs = node("Loop", inputs, {}, n.outputs().size());
  pb::NodeProto* made = graphs_.back().graph->mutable_node(graphs_.back().graph->node_size() - 1);
  pb::AttributeProto* to = made->add_attribute();
  to->set_name("body");
  to->set_type(pb::AttributeProto::GRAPH);
  to->mutable_g()->Swap(&graph);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    set(n.output(k), outside(*results.at(k + 1), outputs[k]));
}

}  // namespace tenon::onnx::exporting
