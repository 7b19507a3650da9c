// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of exported programs that take graphs: branches, loops, and regions with a mode of
// their own. Graphs become blocks of prim::If and prim::Loop, or stand where they were called.
#include <utility>

#include "jit/formats/exported/build.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr int kMaxGraphDepth = 32;

void check_count(std::size_t given, std::size_t least, const char* name) {
  TENON_CHECK(given >= least, ValueError, name, " needs at least ", least, " arguments, and has ",
              given);
}
std::vector<Value*> joined(std::vector<Value*> a, const std::vector<Value*>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::vector<TypePtr> types_of(const std::vector<Value*>& values) {
  std::vector<TypePtr> out;
  out.reserve(values.size());
  for (const Value* v : values) out.push_back(v->type());
  return out;
}

// Which slices are gone over. Later versions of torch move the dimension to the front and reverse
// the tensors; until 2.6 it wrote scan(..., dim, reverse, further), associative_scan(..., dim).
struct Slicing {
  int64_t dim = 0;
  bool backward = false;
  std::size_t further_at;  // among the inputs of the node
};
Slicing slicing_of(const NodeInputs& inputs, std::size_t at) {
  Slicing out;
  out.further_at = at;
  const auto next = [&](const char* tag) -> const Json* {
    if (out.further_at >= inputs.size()) return nullptr;
    const Tagged t = tagged(*inputs[out.further_at].json, "an argument");
    if (t.tag != tag) return nullptr;
    ++out.further_at;
    return &t.value;
  };
  if (const Json* dim = next("as_int")) out.dim = integer_of(*dim, "a dimension");
  if (const Json* backward = next("as_bool")) out.backward = boolean_of(*backward, "a direction");
  return out;
}

}  // namespace

// The nodes of a graph, before the insertion point. Returns its outputs.
std::vector<Value*> ExportedBuilder::inline_graph(const NodeInput& in,
                                                  const std::vector<Value*>& arguments,
                                                  const Scope& outer) {
  const Tagged t = tagged(*in.json, "an argument");
  TENON_CHECK(t.tag == "as_graph", ValueError, "an argument must be a graph, not ", t.tag);
  TENON_CHECK(depth_ < kMaxGraphDepth, ValueError, "graphs are nested more than ", kMaxGraphDepth,
              " deep");
  const Json& graph = member(t.value, "graph");
  const Json& names = list_of(member(graph, "inputs"), "inputs");
  TENON_CHECK(names.size() == arguments.size(), ValueError, "the graph '",
              text_of(member(t.value, "name"), "the name of a graph"), "' has ", names.size(),
              " inputs and is called with ", arguments.size());
  Scope s;
  s.mode = outer.mode;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Tagged input = tagged(names[i], "an input");
    const Json* name = input.value.is_object() ? find_member(input.value, "name") : nullptr;
    if (!name && input.value.is_object()) name = find_member(input.value, "as_name");
    if (name) s.values[text_of(*name, "the name of an input")] = arguments[i];
  }
  ++depth_;
  const Json* outside = std::exchange(graph_at_hand_, &graph);
  add_nodes(graph, s);
  graph_at_hand_ = outside;
  --depth_;
  std::vector<Value*> out;
  for (const Json& each : list_of(member(graph, "outputs"), "outputs"))
    out.push_back(argument(each, s));
  return out;
}

// The elements of an argument that is a list, or the argument itself.
std::vector<Value*> ExportedBuilder::items(const NodeInput& in, Scope& s) {
  const Tagged t = tagged(*in.json, "an argument");
  if (t.tag == "as_string_to_argument") return {};
  if (!t.value.is_array()) return {in.value};
  std::vector<Value*> out;
  for (const Json& each : t.value) {
    if (t.tag == "as_tensors") {
      out.push_back(named(member(each, "name"), s));
    } else if (t.tag == "as_optional_tensors") {
      const Tagged item = tagged(each, "a tensor");
      out.push_back(item.tag == "as_none" ? constant(IValue())
                                          : named(member(item.value, "name"), s));
    } else if (t.tag == "as_floats") {
      out.push_back(constant(real_of(each, "a number")));
    } else if (t.tag == "as_bools") {
      out.push_back(constant(boolean_of(each, "a flag")));
    } else {
      out.push_back(symbolic(each, s));
    }
  }
  return out;
}

std::vector<Value*> ExportedBuilder::operands(const NodeInputs& inputs, std::size_t from,
                                              Scope& s) {
  std::vector<Value*> out;
  for (std::size_t i = from; i < inputs.size(); ++i)
    if (inputs[i].name.empty()) out = joined(std::move(out), items(inputs[i], s));
  return out;
}

Value* ExportedBuilder::as_condition(Value* v) {
  return v->type()->is(TypeKind::Bool) ? v : apply1("aten::Bool.Tensor", {v});
}

// cond(predicate, then, else, operands)
std::vector<Value*> ExportedBuilder::conditional(const NodeInputs& inputs, Scope& s) {
  check_count(inputs.size(), 3, "cond");
  const std::vector<Value*> arguments = operands(inputs, 3, s);
  Node* n = insert("prim::If", {as_condition(inputs[0].value)}, {});
  std::vector<Value*> made[2];
  for (int branch = 0; branch < 2; ++branch) {
    Block* block = n->add_block();
    const Graph::InsertPoint there(*graph_, block);
    made[branch] = inline_graph(inputs[static_cast<std::size_t>(branch) + 1], arguments, s);
    for (Value* v : made[branch]) block->register_output(v);
  }
  TENON_CHECK(made[0].size() == made[1].size(), ValueError, "the branches of a cond have ",
              made[0].size(), " and ", made[1].size(), " outputs");
  for (std::size_t i = 0; i < made[0].size(); ++i) {
    const TypePtr type = unify(made[0][i]->type(), made[1][i]->type());
    n->add_output(type ? type : Type::any());
  }
  return n->outputs();
}

// while_loop(condition, body, carried, further), and while_loop_stack_output, which gives what the
// carried values were after each turn.
std::vector<Value*> ExportedBuilder::while_loop(const NodeInputs& inputs, bool stacked, Scope& s) {
  check_count(inputs.size(), 3, "while_loop");
  const std::vector<Value*> initial = items(inputs[2], s), further = operands(inputs, 3, s);
  const auto condition = [&](const std::vector<Value*>& carried) {
    const std::vector<Value*> made = inline_graph(inputs[0], joined(carried, further), s);
    TENON_CHECK(made.size() == 1, ValueError, "the condition of a while_loop has ", made.size(),
                " outputs");
    return as_condition(made[0]);
  };
  std::vector<Value*> lists;
  for (std::size_t i = 0; stacked && i < initial.size(); ++i)
    lists.push_back(list({}, Type::tensor()));
  Value* first = condition(initial);
  if (stacked) {  // without a turn, what the loop was given
    Node* any = insert("prim::If", {first}, {});
    any->add_block();
    const Graph::InsertPoint there(*graph_, any->add_block());
    for (std::size_t i = 0; i < lists.size(); ++i) apply("aten::append.t", {lists[i], initial[i]});
  }
  Node* n = insert("prim::Loop", joined({constant(INT64_MAX), first}, initial), types_of(initial));
  Block* body = n->add_block();
  body->add_input("iteration", Type::integer());
  std::vector<Value*> carried;
  carried.reserve(initial.size());
  for (const Value* v : initial) carried.push_back(body->add_input("", v->type()));
  {
    const Graph::InsertPoint there(*graph_, body);
    const std::vector<Value*> next = inline_graph(inputs[1], joined(carried, further), s);
    TENON_CHECK(next.size() == initial.size(), ValueError, "the body of a while_loop has ",
                next.size(), " outputs for ", initial.size(), " carried values");
    for (std::size_t i = 0; i < lists.size(); ++i) apply("aten::append.t", {lists[i], next[i]});
    body->register_output(condition(next));
    for (Value* v : next) body->register_output(v);
  }
  if (!stacked) return n->outputs();
  std::vector<Value*> out;
  out.reserve(lists.size());
  for (Value* l : lists) out.push_back(apply1("aten::stack", {l, constant(int64_t{0})}));
  return out;
}

// map_impl(body, slices, further) and scan(combine, initial, slices, further): the body is called
// for each slice; what it makes beside the carried values is stacked in dimension 0.
std::vector<Value*> ExportedBuilder::over_slices(const NodeInputs& inputs, std::size_t carried_at,
                                                 Scope& s) {
  const bool scan = carried_at != 0;
  check_count(inputs.size(), scan ? 3 : 2, scan ? "scan" : "map");
  const std::vector<Value*> initial = scan ? items(inputs[carried_at], s) : std::vector<Value*>();
  const std::size_t slices_at = scan ? 2 : 1;
  const std::vector<Value*> slices = items(inputs[slices_at], s);
  const Slicing how = scan ? slicing_of(inputs, slices_at + 1) : Slicing{0, false, slices_at + 1};
  const std::vector<Value*> further = operands(inputs, how.further_at, s);
  TENON_CHECK(!slices.empty(), ValueError, "there is nothing to go over");
  const Json& graph = member(tagged(*inputs[0].json, "an argument").value, "graph");
  const std::size_t n_outputs = list_of(member(graph, "outputs"), "outputs").size();
  TENON_CHECK(n_outputs >= initial.size(), ValueError, "the body has ", n_outputs, " outputs for ",
              initial.size(), " carried values");
  std::vector<Value*> lists;
  for (std::size_t i = initial.size(); i < n_outputs; ++i)
    lists.push_back(list({}, Type::tensor()));
  Value* dim = constant(how.dim);
  Value* count = apply1("aten::size.int", {slices[0], dim});
  Node* n = insert("prim::Loop", joined({count, constant(true)}, initial), types_of(initial));
  Block* body = n->add_block();
  Value* at = body->add_input("iteration", Type::integer());
  std::vector<Value*> arguments;
  arguments.reserve(initial.size());
  for (const Value* v : initial) arguments.push_back(body->add_input("", v->type()));
  {
    const Graph::InsertPoint there(*graph_, body);
    if (how.backward) {  // the last one first: -1, -2, ...
      Value* before = apply1("aten::neg.int", {at});
      at = apply1("aten::sub.int", {before, constant(int64_t{1})});
    }
    for (Value* v : slices) arguments.push_back(apply1("aten::select.int", {v, dim, at}));
    const std::vector<Value*> made = inline_graph(inputs[0], joined(arguments, further), s);
    body->register_output(constant(true));
    for (std::size_t i = 0; i < initial.size(); ++i) body->register_output(made.at(i));
    for (std::size_t i = 0; i < lists.size(); ++i)
      apply("aten::append.t", {lists[i], made.at(initial.size() + i)});
  }
  std::vector<Value*> out = n->outputs();
  for (Value* l : lists) {
    out.push_back(apply1("aten::stack", {l, constant(int64_t{0})}));
    if (how.backward)
      out.back() = apply1("aten::flip", {out.back(), constant(std::vector<int64_t>{0})});
  }
  return out;
}

// associative_scan(combine, slices, further): each slice is combined with what came before it.
std::vector<Value*> ExportedBuilder::associative_scan(const NodeInputs& inputs, Scope& s) {
  check_count(inputs.size(), 2, "associative_scan");
  const Slicing how = slicing_of(inputs, 2);
  const std::vector<Value*> slices = items(inputs[1], s),
                            further = operands(inputs, how.further_at, s);
  TENON_CHECK(!slices.empty(), ValueError, "there is nothing to go over");
  Value *dim = constant(how.dim), *one = constant(int64_t{1});
  std::vector<Value*> lists, first;
  for (Value* v : slices) {
    first.push_back(apply1("aten::select.int", {v, dim, constant(int64_t{0})}));
    lists.push_back(list({first.back()}, Type::tensor()));
  }
  Value* size = apply1("aten::size.int", {slices[0], dim});
  Value* count = apply1("aten::sub.int", {size, one});
  Node* n = insert("prim::Loop", joined({count, constant(true)}, first), types_of(first));
  Block* body = n->add_block();
  Value* at = body->add_input("iteration", Type::integer());
  std::vector<Value*> arguments;
  arguments.reserve(first.size());
  for (const Value* v : first) arguments.push_back(body->add_input("", v->type()));
  {
    const Graph::InsertPoint there(*graph_, body);
    Value* next = apply1("aten::add.int", {at, one});
    for (Value* v : slices) arguments.push_back(apply1("aten::select.int", {v, dim, next}));
    const std::vector<Value*> made = inline_graph(inputs[0], joined(arguments, further), s);
    TENON_CHECK(made.size() == first.size(), ValueError, "the combination has ", made.size(),
                " outputs for ", first.size(), " inputs");
    body->register_output(constant(true));
    for (std::size_t i = 0; i < made.size(); ++i) {
      body->register_output(made[i]);
      apply("aten::append.t", {lists[i], made[i]});
    }
  }
  std::vector<Value*> out;
  out.reserve(lists.size());
  for (Value* l : lists) out.push_back(apply1("aten::stack", {l, dim}));
  return out;
}

// wrap_with_set_grad_enabled(on, graph, operands...). The mode ends with the value that stands for
// it, also where an error ends the run.
std::vector<Value*> ExportedBuilder::with_grad_mode(const NodeInputs& inputs, Scope& s) {
  check_count(inputs.size(), 2, "wrap_with_set_grad_enabled");
  Value* outer = s.mode ? s.mode : constant(IValue());
  Scope inside;
  inside.mode = apply1("exported::grad_mode", {inputs[0].value, outer});
  std::vector<Value*> out = inline_graph(inputs[1], operands(inputs, 2, s), inside);
  apply("exported::end_mode", {inside.mode});
  return out;
}

// wrap_with_autocast(device, dtype, enabled, cache, graph, operands...). Operators cast as they do
// under at::autocast, those that a composite calls too, so the mode is switched on as it is there.
std::vector<Value*> ExportedBuilder::with_autocast(const NodeInputs& inputs, Scope& s) {
  check_count(inputs.size(), 5, "wrap_with_autocast");
  const auto device = to_constant(inputs[0].value);
  TENON_CHECK(device && device->isString(), ValueError,
              "wrap_with_autocast: the device must be a constant text");
  const Device placed = place_(device->toStringRef());
  Scope inside;
  inside.mode =
      apply1("exported::autocast_mode", {constant(IValue(placed.str())), inputs[1].value,
                                         inputs[2].value, s.mode ? s.mode : constant(IValue())});
  std::vector<Value*> out = inline_graph(inputs[4], operands(inputs, 5, s), inside);
  apply("exported::end_mode", {inside.mode});
  return out;
}

// with_effects(token, operator, arguments...): a token, and what the operator gives.
std::vector<Value*> ExportedBuilder::with_effects(const NodeInputs& inputs, Scope& s) {
  check_count(inputs.size(), 2, "with_effects");
  const auto target = to_constant(inputs[1].value);
  TENON_CHECK(target && target->isString(), ValueError, "with_effects must name an operator");
  const std::size_t missing = missing_.size();
  std::vector<Value*> out{inputs[0].value};
  for (Value* v : call(target->toStringRef(), NodeInputs(inputs.begin() + 2, inputs.end()), s))
    out.push_back(v);
  if (missing_.size() != missing) return {};
  if (out.size() == 1) out.push_back(constant(IValue()));
  return out;
}

// out_dtype(operator, dtype, arguments...): computed in the dtype to which the tensors and `dtype`
// promote, and the result cast.
std::vector<Value*> ExportedBuilder::in_dtype(const NodeInputs& inputs, Scope& s) {
  check_count(inputs.size(), 3, "out_dtype");
  const auto target = to_constant(inputs[0].value);
  TENON_CHECK(target && target->isString(), ValueError, "out_dtype must name an operator");
  NodeInputs arguments(inputs.begin() + 2, inputs.end());
  Value* dtype = inputs[1].value;
  Value* wide = dtype;
  for (const NodeInput& in : arguments)
    if (in.value->type()->is(TypeKind::Tensor))
      wide = apply1("aten::result_type.Tensor", {vector_of(wide), in.value});
  const auto cast = [&](Value* v, Value* to) {
    return apply1("aten::to.dtype", {v, to, constant(false), constant(false), constant(IValue())});
  };
  for (NodeInput& in : arguments)
    if (in.value->type()->is(TypeKind::Tensor)) in.value = cast(in.value, wide);
  const std::size_t missing = missing_.size();
  const std::vector<Value*> made = call(target->toStringRef(), std::move(arguments), s);
  return missing_.size() != missing ? made : std::vector<Value*>{cast(made.at(0), dtype)};
}

std::vector<Value*> ExportedBuilder::call_higher(const std::string& name, const NodeInputs& inputs,
                                                 Scope& s) {
  if (name == "cond") return conditional(inputs, s);
  if (name == "while_loop") return while_loop(inputs, false, s);
  if (name == "while_loop_stack_output") return while_loop(inputs, true, s);
  if (name == "map_impl" || name == "map") return over_slices(inputs, 0, s);
  if (name == "scan") return over_slices(inputs, 1, s);
  if (name == "associative_scan") return associative_scan(inputs, s);
  if (name == "wrap_with_set_grad_enabled") return with_grad_mode(inputs, s);
  if (name == "wrap_with_autocast") return with_autocast(inputs, s);
  if (name == "out_dtype") return in_dtype(inputs, s);
  if (name == "with_effects") return with_effects(inputs, s);
  if (name == "invoke_quant_packed" || name == "invoke_quant") {
    check_count(inputs.size(), 1, name.c_str());
    return inline_graph(inputs[0], operands(inputs, 1, s), s);
  }
  if (name == "invoke_subgraph") {
    check_count(inputs.size(), 2, "invoke_subgraph");
    return inline_graph(inputs[0], operands(inputs, 2, s), s);
  }
  if (name == "wrap" || name == "wrap_activation_checkpoint" ||
      name == "tag_activation_checkpoint" || name == "strict_mode" || name == "hints_wrapper") {
    check_count(inputs.size(), 1, name.c_str());
    return inline_graph(inputs[0], operands(inputs, 1, s), s);
  }
  return missing("higher_order::" + name, inputs);
}

}  // namespace tenon::jit::formats
