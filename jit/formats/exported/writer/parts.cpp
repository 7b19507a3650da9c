// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Graphs in the graph of the file, sides of branches and bodies of loops: they take the tensors and
// numbers of the program that they use.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "tenon/core/op.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

bool ProgramWriter::Part::has(const std::string& name) const {
  return tensors.contains(name) || integers.contains(name) || reals.contains(name) ||
         booleans.contains(name);
}

Json ProgramWriter::Part::argument(const std::string& name) const {
  if (tensors.contains(name)) return {{"as_tensor", {{"name", name}}}};
  const char* tag = integers.contains(name) ? "as_sym_int"
                    : reals.contains(name)  ? "as_sym_float"
                                            : "as_sym_bool";
  return {{tag, {{"as_name", name}}}};
}

// torch has no results that are arguments, or views of them.
bool ProgramWriter::is_of_part(const Value& v, const Block& part) {
  const Node& n = *v.node();
  if (n.owning_block() != &part || !n.op) return false;
  const auto& returns = n.op->schema.returns;
  return std::all_of(returns.begin(), returns.end(),
                     [](const jit::Argument& a) { return a.alias.set.empty(); });
}

bool ProgramWriter::writes(const Block& b) {
  const auto nodes = b.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* n) {
    if (n->op && std::any_of(n->op->schema.arguments.begin(), n->op->schema.arguments.end(),
                             [](const jit::Argument& a) { return a.alias.write; }))
      return true;
    const auto blocks = n->blocks();
    return std::any_of(blocks.begin(), blocks.end(), [](const Block* i) { return writes(*i); });
  });
}

void ProgramWriter::check_same_kind(const Node& n, const IValue& a, const IValue& b) {
  const Tensor x = a.toTensor(), y = b.toTensor();
  if (x.scalar_type() == y.scalar_type() && x.sizes() == y.sizes()) return;
  refuse(n, core::join("a ", dtype_name(x.scalar_type()), " tensor of the sizes ", x.sizes(),
                       " stands for a ", dtype_name(y.scalar_type()), " one of the sizes ",
                       y.sizes()));
}

const ProgramWriter::Item* ProgramWriter::copied(const Item& tensor) {
  return emit("aten::clone", {&tensor});
}

// What is computed there is not seen outside of it.
ProgramWriter::Part ProgramWriter::visit_part(const std::function<void()>& visit_all) {
  Part outside = graph_;
  const auto sizes = sizes_of_;
  const std::size_t named = tensors_of_numbers_.size();
  graph_.nodes = Json::array();
  visit_all();
  for (; tensors_of_numbers_.size() > named; tensors_of_numbers_.pop_back())
    tensors_of_numbers_.back()->name.clear();
  sizes_of_ = sizes;
  Part made = std::move(graph_);
  graph_ = std::move(outside);
  for (const Weight& w : weights_)  // constants that it was the first to use
    if (!graph_.tensors.contains(w.name)) graph_.tensors[w.name] = made.tensors.at(w.name);
  return made;
}

// The values of the graph at hand that the parts use.
std::vector<std::string> ProgramWriter::outside_values(
    const std::vector<const Part*>& parts) const {
  Names used;
  for (const Part* part : parts)
    for (const Json& node : part->nodes)
      for (const Json& in : node.at("inputs")) add_names(in.at("arg"), used);
  std::vector<std::string> names;
  std::copy_if(used.begin(), used.end(), std::back_inserter(names),
               [&](const std::string& name) { return graph_.has(name); });
  return names;
}

// The part as an argument: a graph that takes values under their names.
Json ProgramWriter::part_argument(const std::string& name, const Part& part,
                                  const std::vector<const Item*>& results,
                                  const std::vector<std::string>& taken, bool single) {
  Json graph{{"inputs", Json::array()},
             {"outputs", Json::array()},
             {"nodes", part.nodes},
             {"custom_obj_values", Json::object()},
             {"is_single_tensor_return", single}};
  Names used(taken.begin(), taken.end());
  for (const std::string& each : taken) graph["inputs"].push_back(part.argument(each));
  for (const Item* r : results) graph["outputs"].push_back(tensor_argument(*r));
  add_used_names(graph, used);
  for (const Json& node : part.nodes) add_names(node.at("outputs"), used);
  const auto keep = [&used](const Json& all) {
    Json kept = Json::object();
    for (const auto& [key, value] : all.items())
      if (used.count(key)) kept[key] = value;
    return kept;
  };
  graph["tensor_values"] = keep(part.tensors);
  graph["sym_int_values"] = keep(part.integers);
  graph["sym_float_values"] = keep(part.reals);
  graph["sym_bool_values"] = keep(part.booleans);
  return {{"as_graph", {{"name", name}, {"graph", std::move(graph)}}}};
}

void ProgramWriter::add_higher(const std::string& name, std::vector<Json> arguments, Json outputs) {
  Json inputs = Json::array();
  for (Json& a : arguments) inputs.push_back({{"name", ""}, {"arg", std::move(a)}, {"kind", 1}});
  add_node("torch.ops.higher_order." + name, std::move(inputs), std::move(outputs), fresh(name));
}

}  // namespace tenon::jit::formats
