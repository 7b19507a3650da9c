// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Graphs in the graph of the file, sides of branches and bodies of loops: they take the tensors and
// numbers of the program that they use.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/passes/nodes.h"
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

namespace {

// Whether a node of the block made the tensor, or what it is a view of.
bool is_made_in(const Value* v, const Block& b) {
  for (; is_in(v->node(), b); v = v->node()->input(0)) {
    const Node& n = *v->node();
    if (n.is("prim::ListConstruct")) return true;
    const auto at = static_cast<std::size_t>(v->offset());
    if (!n.op || n.op->schema.returns.size() <= at) return false;
    if (n.op->schema.returns[at].alias.set.empty()) return true;
    if (n.inputs().empty()) return false;
  }
  return false;
}

// Of the tensors and lists that nodes of `all` write, one is from outside of it.
bool writes_outside(const Block& b, const Block& all, const std::vector<const Node*>& but) {
  for (const Node* n : b.nodes()) {
    if (std::find(but.begin(), but.end(), n) != but.end()) continue;
    if (n->is("prim::SetAttr")) return true;
    for (std::size_t k = 0; n->op && k < n->op->schema.arguments.size(); ++k)
      if (n->op->schema.arguments[k].alias.write && !is_made_in(n->input(k), all)) return true;
    for (const Block* inner : n->blocks())
      if (writes_outside(*inner, all, but)) return true;
  }
  return false;
}

}  // namespace

// To a tensor or list of outside, by other nodes than `but`.
bool ProgramWriter::writes(const Block& b, const std::vector<const Node*>& but) {
  return writes_outside(b, b, but);
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

// A number, a bool, or the tensor that it was read from, as a tensor that a loop can carry.
const ProgramWriter::Item* ProgramWriter::carried_as_tensor(const Node& n, const Item& item) {
  if (item.truth) return item.truth;
  const IValue& v = item.example;
  if (v.isTensor() && v.toTensor().defined()) return &item;
  if (!(v.isInt() || v.isDouble() || v.isBool()) || !is_known(item))
    refuse(n, "a value that is neither a tensor nor a number depends on data");
  const ScalarType dtype = v.isBool() ? kBool : v.isInt() ? kLong : kDouble;
  const auto in_tensor = [dtype](const IValue& run) {
    return full({},
                run.isDouble() ? Scalar(run.toDouble())
                : run.isBool() ? Scalar(run.toBool())
                               : Scalar(run.toInt()),
                TensorOptions(dtype));
  };
  Item* made = make(in_tensor(v));
  made->number = item.number;
  made->constant = item.constant;
  for (std::size_t r = 1; r < item.runs(); ++r) made->others.push_back(in_tensor(item.in_run(r)));
  (void)make_tensor_of(*made);
  tensors_of_numbers_.pop_back();
  made->number.clear();  // it is a tensor from here on
  made->constant = false;
  return made;
}

// The number or bool that a tensor holds, if it stands for one, of the kind that `like` is.
const ProgramWriter::Item* ProgramWriter::number_in_tensor(const Item& tensor, const IValue& like) {
  if (like.isTensor()) return &tensor;
  const auto held = [&](std::size_t run) {
    const Tensor t = tensor.in_run(run).toTensor();
    return like.isBool()     ? IValue(t.item<bool>())
           : like.isDouble() ? IValue(t.item<double>())
                             : IValue(t.item<int64_t>());
  };
  Item* made = make(held(0));
  for (std::size_t r = 1; r < tensor.runs(); ++r) made->others.push_back(held(r));
  if (like.isBool()) {
    made->truth = &tensor;
    return made;
  }
  SizeExpressions::Values values;
  for (std::size_t r = 0; r < tensor.runs(); ++r)
    values.push_back(like.isDouble() ? 0 : made->in_run(r).toInt());
  add_number(*made, "item",
             like.isDouble() ? sizes_.text_of_real() : sizes_.text_of_unknown(values, INT64_MIN));
  Json inputs =
      Json::array({Json{{"name", "self"}, {"arg", tensor_argument(tensor)}, {"kind", 1}}});
  add_node("torch.ops.aten.item.default", std::move(inputs), Json::array({number_argument(*made)}),
           made->number);
  return made;
}

// Tensors that are not those of outside, nor views of them, nor constants of the file; numbers and
// bools leave it in tensors.
const ProgramWriter::Item* ProgramWriter::result_of_part(const Value& v, const Block& part) {
  const Item& item = at(&v);
  const Item* tensor = carried_as_tensor(*part.owning_node(), item);
  if (tensor == item.truth) return copied(*tensor);
  const bool made_here =
      tensor != &item || (is_of_part(v, part) && item.number.empty() && !item.constant);
  return made_here ? tensor : copied(*tensor);
}

ProgramWriter::Mark ProgramWriter::mark() const {
  return {graph_, sizes_of_, tensors_of_numbers_.size()};
}

// What was written since then, which is not seen from here on.
ProgramWriter::Part ProgramWriter::go_back(Mark to) {
  for (; tensors_of_numbers_.size() > to.tensors_of_numbers; tensors_of_numbers_.pop_back())
    tensors_of_numbers_.back()->name.clear();
  sizes_of_ = std::move(to.sizes);
  Part made = std::move(graph_);
  graph_ = std::move(to.graph);
  for (const Weight& w : weights_)  // constants that it was the first to use
    if (!graph_.tensors.contains(w.name)) graph_.tensors[w.name] = made.tensors.at(w.name);
  return made;
}

ProgramWriter::Part ProgramWriter::visit_part(const std::function<void()>& visit_all) {
  Mark outside = mark();
  graph_.nodes = Json::array();
  try {
    visit_all();
  } catch (...) {
    (void)go_back(std::move(outside));
    throw;
  }
  return go_back(std::move(outside));
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
  for (const std::string& each : taken)
    graph["inputs"].push_back((part.has(each) ? part : graph_).argument(each));
  for (const Item* r : results) graph["outputs"].push_back(tensor_argument(*r));
  add_used_names(graph, used);
  for (const Json& node : part.nodes) add_names(node.at("outputs"), used);
  const auto keep = [&used](const Json& inside, const Json& outside) {
    Json kept = Json::object();
    for (const std::string& each : used) {
      const Json& all = inside.contains(each) ? inside : outside;
      if (all.contains(each)) kept[each] = all[each];
    }
    return kept;
  };
  graph["tensor_values"] = keep(part.tensors, graph_.tensors);
  graph["sym_int_values"] = keep(part.integers, graph_.integers);
  graph["sym_float_values"] = keep(part.reals, graph_.reals);
  graph["sym_bool_values"] = keep(part.booleans, graph_.booleans);
  return {{"as_graph", {{"name", name}, {"graph", std::move(graph)}}}};
}

void ProgramWriter::add_higher(const std::string& name, std::vector<Json> arguments, Json outputs) {
  Json inputs = Json::array();
  for (Json& a : arguments) inputs.push_back({{"name", ""}, {"arg", std::move(a)}, {"kind", 1}});
  add_node("torch.ops.higher_order." + name, std::move(inputs), std::move(outputs), fresh(name));
}

}  // namespace tenon::jit::formats
