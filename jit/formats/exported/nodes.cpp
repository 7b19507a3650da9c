// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Nodes of exported programs: arguments by name or position become those of an operator's schema.
#include <algorithm>

#include "jit/formats/exported/build.h"
#include "jit/language/match.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

// What torch says of memory, and what has no meaning for Tenon.
bool may_be_dropped(const std::string& name) {
  static const std::set<std::string> kNames = {"pin_memory", "memory_format", "non_blocking",
                                               "layout",     "cudnn_enabled", "device"};
  return kNames.count(name) != 0;
}

// A short text of an argument, for messages and the program's listing.
std::string shown(const Json& a) {
  const Tagged t = tagged(a, "an argument");
  if (const Json* name = t.value.is_object() ? find_member(t.value, "name") : nullptr)
    return name->is_string() ? name->get<std::string>() : "?";
  if (const Json* name = t.value.is_object() ? find_member(t.value, "as_name") : nullptr)
    return name->is_string() ? name->get<std::string>() : "?";
  if (t.tag == "as_none") return "None";
  if (t.tag == "as_tensors" && t.value.is_array()) {
    std::string all;
    for (const Json& each : t.value) {
      const Json* name = each.is_object() ? find_member(each, "name") : nullptr;
      all += (all.empty() ? "" : ", ") +
             (name && name->is_string() ? name->get<std::string>() : std::string("?"));
    }
    return "[" + all + "]";
  }
  std::string text = t.value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t kMax = 60;
  return text.size() > kMax ? text.substr(0, kMax) + "..." : text;
}

}  // namespace

// A line of the program's listing: what errors show.
void ExportedBuilder::describe(const Json& node) {
  std::string line;
  for (const Json& out : list_of(member(node, "outputs"), "outputs"))
    line += (line.empty() ? "" : ", ") + shown(out);
  line += (line.empty() ? "" : " = ") + text_of(member(node, "target"), "target") + "(";
  bool first = true;
  for (const Json& in : list_of(member(node, "inputs"), "inputs")) {
    const std::string& name = text_of(member(in, "name"), "the name of an argument");
    line += (first ? "" : ", ") + (name.empty() ? "" : name + "=") + shown(member(in, "arg"));
    first = false;
  }
  line += ")";
  range_.source = source_;
  range_.begin = static_cast<uint32_t>(source_->text.size());
  source_->text += line;
  range_.end = static_cast<uint32_t>(source_->text.size());
  source_->text += "\n";
}

Value* ExportedBuilder::named(const Json& name, Scope& s) {
  const std::string& n = text_of(name, "the name of a value");
  const auto it = s.values.find(n);
  TENON_CHECK(it != s.values.end(), ValueError, "no node before this one makes '", n, "'");
  return it->second;
}

// {"as_name": "s"} or {"as_int": 3}.
Value* ExportedBuilder::symbolic(const Json& a, Scope& s) {
  if (a.is_number_integer()) return constant(integer_of(a, "a number"));
  const Tagged t = tagged(a, "a number");
  if (t.tag == "as_name") return named(t.value, s);
  if (t.tag == "as_int") return constant(integer_of(t.value, "a number"));
  if (t.tag == "as_float") return constant(real_of(t.value, "a number"));
  TENON_CHECK(t.tag == "as_bool", ValueError, "unknown kind of number '", t.tag, "'");
  return constant(boolean_of(t.value, "a number"));
}

Value* ExportedBuilder::list_argument(const std::string& tag, const Json& items, Scope& s) {
  std::vector<Value*> values;
  const auto all = [&](auto f) {
    for (const Json& each : list_of(items, tag.c_str())) values.push_back(f(each));
  };
  if (tag == "as_tensors") {
    all([&](const Json& j) { return named(member(j, "name"), s); });
    return list(values, Type::tensor());
  }
  if (tag == "as_optional_tensors") {
    all([&](const Json& j) {
      const Tagged t = tagged(j, "a tensor");
      return t.tag == "as_none" ? constant(IValue()) : named(member(t.value, "name"), s);
    });
    return list(values, Type::optional(Type::tensor()));
  }
  if (tag == "as_nested_tensors") {
    all([&](const Json& j) { return list_argument("as_tensors", j, s); });
    return list(values, Type::list(Type::tensor()));
  }
  all([&](const Json& j) { return symbolic(j, s); });
  return list(values, tag == "as_sym_ints"    ? Type::integer()
                      : tag == "as_sym_bools" ? Type::boolean()
                                              : Type::floating());
}

namespace {

// Arguments that the program knows. Nothing for those that it computes.
std::optional<IValue> constant_argument(const std::string& tag, const Json& v,
                                        const PlaceDevice& place) {
  const auto all = [&](auto f) {
    std::vector<decltype(f(v))> out;
    for (const Json& each : list_of(v, tag.c_str())) out.push_back(f(each));
    return IValue(out);
  };
  const auto integer = [](const Json& j) { return integer_of(j, "a number"); };
  const auto real = [](const Json& j) { return real_of(j, "a number"); };
  if (tag == "as_none") return IValue();
  if (tag == "as_string_to_argument") return IValue();  // hints, which only compilers read
  if (tag == "as_int") return IValue(integer(v));
  if (tag == "as_ints") return all(integer);
  if (tag == "as_float") return IValue(real(v));
  if (tag == "as_floats") return all(real);
  if (tag == "as_bool") return IValue(boolean_of(v, "a flag"));
  if (tag == "as_bools") return all([](const Json& j) { return boolean_of(j, "a flag"); });
  if (tag == "as_string") return IValue(text_of(v, "a text"));
  if (tag == "as_operator") return IValue(text_of(v, "an operator"));
  if (tag == "as_complex")
    return IValue(std::complex<double>(real(member(v, "real")), real(member(v, "imag"))));
  if (tag == "as_strings")
    return all([](const Json& j) { return std::string(text_of(j, "a text")); });
  if (tag == "as_scalar_type") return IValue(dtype_of(v));
  if (tag == "as_memory_format") return IValue(memory_format_of(v));
  if (tag == "as_layout") return IValue(layout_of(v));
  if (tag == "as_device") return IValue(place(device_name_of(v)));
  return std::nullopt;
}

}  // namespace

Value* ExportedBuilder::argument(const Json& a, Scope& s) {
  const auto& [tag, v] = tagged(a, "an argument");
  if (std::optional<IValue> known = constant_argument(tag, v, place_))
    return constant(*std::move(known));
  if (tag == "as_tensor") return named(member(v, "name"), s);
  if (tag == "as_optional_tensor") {
    const Tagged t = tagged(v, "a tensor");
    return t.tag == "as_none" ? constant(IValue()) : named(member(t.value, "name"), s);
  }
  if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") return symbolic(v, s);
  if (tag == "as_tensors" || tag == "as_optional_tensors" || tag == "as_nested_tensors" ||
      tag == "as_sym_ints" || tag == "as_sym_floats" || tag == "as_sym_bools")
    return list_argument(tag, v, s);
  if (tag == "as_custom_obj")
    throw NotImplementedError(
        core::join("an object of class ", text_of(member(v, "class_fqn"), "class_fqn"),
                   " as an argument; objects of C++ classes are not supported"));
  throw NotImplementedError(core::join("arguments of kind '", tag, "' are not supported"));
}

NodeInputs ExportedBuilder::read_node_inputs(const Json& node, Scope& s) {
  NodeInputs out;
  for (const Json& in : list_of(member(node, "inputs"), "inputs")) {
    const Json& arg = member(in, "arg");
    const bool graph = tagged(arg, "an argument").tag == "as_graph";
    out.push_back({text_of(member(in, "name"), "the name of an argument"), &arg,
                   graph ? nullptr : argument(arg, s)});
  }
  return out;
}

void ExportedBuilder::bind_output(const Json& out, Value* v, Scope& s) {
  const auto& [tag, value] = tagged(out, "an output");
  const auto bind = [&](const Json& name, TypePtr type) {
    if (v->type()->is(TypeKind::Any) || v->type()->is(TypeKind::Number)) v->set_type(type);
    const std::string& n = text_of(name, "the name of a value");
    s.values[n] = v;
    if (v->name().empty() && !n.empty() && !v->node()->is("prim::Constant")) v->set_name(n);
  };
  if (tag == "as_none") return;
  if (tag == "as_tensor") return bind(member(value, "name"), Type::tensor());
  if (tag == "as_tensors") {
    const Json& names = list_of(value, "as_tensors");
    const std::vector<TypePtr> types(names.size(), Type::tensor());
    const std::vector<Value*> parts = insert("prim::ListUnpack", {v}, types)->outputs();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string& n = text_of(member(names[i], "name"), "the name of a value");
      s.values[n] = parts[i]->set_name(n);
    }
    return;
  }
  if (tag == "as_optional_tensor") {
    const Tagged t = tagged(value, "an output");
    if (t.tag == "as_tensor") bind(member(t.value, "name"), Type::tensor());
    return;
  }
  if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") {
    const Tagged t = tagged(value, "an output");
    if (t.tag != "as_name") return;
    const bool whole = tag == "as_sym_int", real = tag == "as_sym_float";
    if ((whole || real) && v->type()->is(TypeKind::Number))  // or TorchScript's text has no type
      v = apply1(whole ? "aten::Int.Scalar" : "aten::Float.Scalar", {v});
    bind(t.value, whole ? Type::integer() : real ? Type::floating() : Type::boolean());
    return;
  }
  TENON_CHECK(tag == "as_int" || tag == "as_float" || tag == "as_bool", NotImplementedError,
              "outputs of kind '", tag, "' are not supported");
}

// A node whose several tensors the file writes as one list has an output for each of them.
void ExportedBuilder::bind_outputs(const Json& node, const std::vector<Value*>& made, Scope& s) {
  const Json& outs = list_of(member(node, "outputs"), "outputs");
  if (outs.size() == 1 && tagged(outs[0], "an output").tag == "as_tensors" &&
      !(made.size() == 1 &&
        (made[0]->type()->is(TypeKind::List) || made[0]->type()->is(TypeKind::Any)))) {
    const Json& names = list_of(outs[0].begin().value(), "as_tensors");
    TENON_CHECK(names.size() == made.size(), ValueError, "the node has ", names.size(),
                " outputs, but the operator makes ", made.size());
    for (std::size_t i = 0; i < made.size(); ++i)
      s.values[text_of(member(names[i], "name"), "the name of a value")] = made[i];
    return;
  }
  TENON_CHECK(outs.size() <= made.size(), ValueError, "the node has ", outs.size(),
              " outputs, but the operator makes ", made.size());
  for (std::size_t i = 0; i < outs.size(); ++i) bind_output(outs[i], made[i], s);
}

// The arguments of `schema` in its order; nothing if they do not fit.
std::optional<std::vector<Value*>> ExportedBuilder::bind_schema(const FunctionSchema& schema,
                                                                const NodeInputs& inputs) {
  std::vector<Value*> out(schema.arguments.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    int at = schema.find_argument(inputs[i].name);
    // Names of arguments differ in a few schemas; then the place decides.
    if (at < 0 && i < out.size() && !schema.arguments[i].keyword_only && !out[i] &&
        std::none_of(inputs.begin(), inputs.end(), [&](const NodeInput& other) {
          return other.name == schema.arguments[i].name;
        }))
      at = static_cast<int>(i);
    if (at >= 0)
      out[static_cast<std::size_t>(at)] = inputs[i].value;
    else if (!may_be_dropped(inputs[i].name))
      return std::nullopt;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i]) continue;
    const Argument& a = schema.arguments[i];
    if (a.default_value)
      out[i] = constant(*a.default_value);
    else if (a.type->is(TypeKind::Optional))
      out[i] = constant(IValue());
    else
      return std::nullopt;
  }
  return out;
}

// An operator that is not there is counted; its outputs stand for what it would make.
std::vector<Value*> ExportedBuilder::missing(const std::string& name, const NodeInputs& inputs) {
  std::string text = name + "(";
  for (const NodeInput& in : inputs)
    text += (&in == &inputs[0] ? "" : ", ") + (in.value ? in.value->type()->str() : "graph") +
            (in.name.empty() ? "" : " " + in.name);
  text += ")";
  const std::size_t dot = name.find("::") == std::string::npos ? std::string::npos : name.find('.');
  const std::vector<const Operator*> others = operators_named(name.substr(0, dot));
  if (!others.empty()) {
    text += "; there is";
    for (std::size_t i = 0; i < std::min<std::size_t>(others.size(), 4); ++i)
      text += (i == 0 ? " " : ", ") + others[i]->schema.str();
  } else {
    const std::vector<std::string> similar = similar_operators(name.substr(0, dot));
    for (std::size_t i = 0; i < similar.size(); ++i)
      text += (i == 0 ? "; close names: " : ", ") + similar[i];
  }
  ++missing_[text];
  return {};
}

namespace {

bool is_number(const Type& t) {
  return t.is(TypeKind::Int) || t.is(TypeKind::Float) || t.is(TypeKind::Bool) ||
         t.is(TypeKind::Complex) || t.is(TypeKind::Number);
}
bool takes_tensor(const Argument& a) {
  return a.type->is(TypeKind::Tensor) ||
         (a.type->is(TypeKind::Optional) && a.type->element()->is(TypeKind::Tensor));
}
// torch calls x * 2 mul.Tensor; here it is mul.Scalar.
bool numbers_for_tensors(const FunctionSchema& schema, const std::vector<Value*>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (is_number(*arguments[i]->type()) && takes_tensor(schema.arguments[i])) return true;
  return false;
}

}  // namespace

// Which dtype a number has as a tensor: beside tensors with dimensions it has no say, and has to be
// exact, unless it is real and none of them has floats. The file says what they are.
std::optional<ScalarType> ExportedBuilder::dtype_beside_tensors(const Type& number) {
  const Json* all = find_member(*graph_at_hand_, "tensor_values");
  std::optional<ScalarType> common;
  bool points = true;  // none has dimensions
  for (const Json& in : list_of(member(*node_, "inputs"), "inputs")) {
    const Tagged given = tagged(member(in, "arg"), "an argument");
    const bool optional = given.tag == "as_optional_tensor";
    const Tagged t = optional ? tagged(given.value, "a tensor") : given;
    if (t.tag != "as_tensor") continue;
    const std::string& name = text_of(member(t.value, "name"), "the name of a value");
    const Json* meta = all ? find_member(*all, name.c_str()) : nullptr;
    if (!meta) return std::nullopt;
    const ScalarType dtype = dtype_of(member(*meta, "dtype"));
    common = common ? promote_types(*common, dtype) : dtype;
    points = points && list_of(member(*meta, "sizes"), "sizes").empty();
  }
  const bool floats = common && (isFloatingType(*common) || isComplexType(*common));
  if (number.is(TypeKind::Float) && !floats) return get_default_dtype();
  const bool below = number.is(TypeKind::Bool) || floats || (common && common != kBool);
  return points && below ? common : std::nullopt;
}

void ExportedBuilder::make_tensors(const FunctionSchema& schema, std::vector<Value*>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Value*& v = arguments[i];
    if (!is_number(*v->type()) || !takes_tensor(schema.arguments[i])) continue;
    const std::optional<ScalarType> dtype = dtype_beside_tensors(*v->type());
    v = apply1("prim::NumToTensor.Scalar", {v});
    if (dtype)
      v = apply1("aten::to.dtype", {v, constant(IValue(*dtype)), constant(false), constant(false),
                                    constant(IValue())});
  }
}

std::vector<Value*> ExportedBuilder::call_operator(const std::string& full_name,
                                                   const NodeInputs& inputs) {
  if (auto made = rewrite(full_name, inputs)) return *std::move(made);
  const auto finish = [&](const Operator& op, const std::vector<Value*>& arguments) {
    std::vector<TypePtr> types;
    for (const Argument& r : op.schema.returns) types.push_back(r.type);
    Node* n = insert(op.schema.name, arguments, types);
    n->op = &op;
    return n->outputs();
  };
  const Operator* exact = find_operator(full_name);
  std::optional<std::vector<Value*>> arguments;
  if (exact) arguments = bind_schema(exact->schema, inputs);
  if (arguments && !numbers_for_tensors(exact->schema, *arguments))
    return finish(*exact, *arguments);
  std::vector<language::NamedValue> values;
  for (const NodeInput& in : inputs) values.push_back({in.name, in.value, range_});
  for (const Operator* op : operators_named(full_name.substr(0, full_name.find('.')))) {
    if (const auto m = language::try_schema(op->schema, *graph_, range_, values, false, nullptr))
      return finish(*op, m->inputs);
  }
  if (arguments) {
    make_tensors(exact->schema, *arguments);
    return finish(*exact, *arguments);
  }
  return missing(full_name, inputs);
}

namespace {

// Functions of Python on numbers, by the operator that is the same.
const char* python_operator(const std::string& target) {
  static const std::map<std::string, const char*> kNames = {
      {"_operator.add", "aten::add"},
      {"_operator.sub", "aten::sub"},
      {"_operator.mul", "aten::mul"},
      {"_operator.truediv", "aten::div"},
      {"_operator.floordiv", "aten::floordiv"},
      {"_operator.mod", "aten::remainder"},
      {"_operator.pow", "aten::pow"},
      {"_operator.neg", "aten::neg"},
      {"_operator.eq", "aten::eq"},
      {"_operator.ne", "aten::ne"},
      {"_operator.lt", "aten::lt"},
      {"_operator.le", "aten::le"},
      {"_operator.gt", "aten::gt"},
      {"_operator.ge", "aten::ge"},
      {"_operator.and_", "aten::__and__"},
      {"_operator.or_", "aten::__or__"},
      {"_operator.xor", "aten::__xor__"},
      {"_operator.lshift", "aten::__lshift__"},
      {"_operator.rshift", "aten::__rshift__"},
      {"torch.sym_not", "aten::__not__"},
      {"torch.sym_max", "prim::max"},
      {"torch.sym_min", "prim::min"},
      {"torch.sym_int", "aten::Int"},
      {"torch.sym_float", "aten::Float"},
      {"torch.sym_sqrt", "aten::sqrt"},
      {"torch._sym_sqrt", "aten::sqrt"},
      {"math.trunc", "aten::Int"},
      {"math.floor", "aten::floor"},
      {"math.ceil", "aten::ceil"},
      {"math.sqrt", "aten::sqrt"},
      {"builtins.abs", "prim::abs"},
      {"_operator.abs", "prim::abs"},
  };
  const auto it = kNames.find(target);
  return it == kNames.end() ? nullptr : it->second;
}

}  // namespace

std::vector<Value*> ExportedBuilder::call_python(const std::string& target,
                                                 const NodeInputs& inputs) {
  const auto is = [&](std::size_t i, TypeKind k) {
    return i < inputs.size() && inputs[i].value && inputs[i].value->type()->is(k);
  };
  const auto whole = [&](std::size_t i) { return is(i, TypeKind::Int) || is(i, TypeKind::Bool); };
  if (target == "_operator.pos" && inputs.size() == 1) return {inputs[0].value};
  if ((target == "_operator.getitem") && inputs.size() == 2 && is(0, TypeKind::List)) {
    Value* item = apply1("aten::__getitem__.t", {inputs[0].value, inputs[1].value});
    return {item->set_type(inputs[0].value->type()->element())};
  }
  if (target == "torch.sym_ite" && inputs.size() == 3) {
    Node* n = insert("prim::If", {inputs[0].value}, {inputs[1].value->type()});
    n->add_block()->register_output(inputs[1].value);
    n->add_block()->register_output(inputs[2].value);
    return {n->output()};
  }
  // Powers of integers are integers in Python.
  if (target == "_operator.pow" && inputs.size() == 2 && whole(0) && whole(1))
    return apply("aten::pow.int_to_int", {inputs[0].value, inputs[1].value});
  if ((target == "torch.sym_float" && is(0, TypeKind::Float)) ||
      ((target == "torch.sym_int" || target == "math.trunc") && is(0, TypeKind::Int)))
    return {inputs[0].value};
  const char* name = python_operator(target);
  if (!name) return missing(target, inputs);
  std::vector<language::NamedValue> values;
  for (const NodeInput& in : inputs) values.push_back({"", in.value, range_});
  for (const bool conversions : {false, true}) {
    for (const Operator* op : operators_named(name)) {
      const auto m =
          language::try_schema(op->schema, *graph_, range_, values, conversions, nullptr);
      if (!m) continue;
      Node* n = insert(op->schema.name, m->inputs, m->returns);
      n->op = op;
      return n->outputs();
    }
  }
  return missing(target, inputs);
}

std::vector<Value*> ExportedBuilder::call(const std::string& target, NodeInputs inputs, Scope& s) {
  constexpr std::string_view kOps = "torch.ops.", kHigher = "torch.ops.higher_order.";
  if (target.compare(0, kHigher.size(), kHigher) == 0)
    return call_higher(target.substr(kHigher.size()), inputs, s);
  for (const NodeInput& in : inputs)
    TENON_CHECK(in.value, NotImplementedError, "a graph is the argument of ", target);
  if (target.compare(0, kOps.size(), kOps) != 0) return call_python(target, inputs);
  const std::string path = target.substr(kOps.size());
  const std::size_t space = path.find('.');
  const std::size_t dot = space == std::string::npos ? space : path.find('.', space + 1);
  TENON_CHECK(dot != std::string::npos && path.find('.', dot + 1) == std::string::npos, ValueError,
              "the target '", target, "' is not namespace.name.overload");
  const std::string overload = path.substr(dot + 1);
  const std::string name = path.substr(0, space) + "::" + path.substr(space + 1, dot - space - 1);
  return call_operator(overload == "default" ? name : name + "." + overload, inputs);
}

void ExportedBuilder::add_node(const Json& node, Scope& s) {
  // Conditions of loops are there twice: a small file could ask for very many nodes.
  constexpr int64_t kMaxNodes = 1 << 20;
  TENON_CHECK(++nodes_ <= kMaxNodes, ValueError, "the program has more than ", kMaxNodes, " nodes");
  describe(node);
  node_ = &node;
  const std::string& target = text_of(member(node, "target"), "target");
  const SourceRange here = range_;
  try {
    const std::size_t before = missing_.size();
    int64_t counted = 0;
    for (const auto& [name, n] : missing_) counted += n;
    // What it says of a dtype that is not here may be true all the same.
    if (target == "torch.ops.aten._assert_tensor_metadata.default") return;
    std::vector<Value*> made = call(target, read_node_inputs(node, s), s);
    range_ = here;
    int64_t now = 0;
    for (const auto& [name, n] : missing_) now += n;
    if (made.empty() && (missing_.size() != before || now != counted)) {
      // Whatever is missing, the rest of the program is looked at as well.
      for (std::size_t i = list_of(member(node, "outputs"), "outputs").size(); i-- > 0;)
        made.push_back(insert1("prim::Uninitialized", {}, Type::any()));
    }
    bind_outputs(node, made, s);
  } catch (const ErrorReport&) {
    throw;
  } catch (const Error& e) {
    core::throw_error(e.code(), e.msg() + "\n" + here.highlight());
  }
}

void ExportedBuilder::add_nodes(const Json& graph, Scope& s) {
  const Json& nodes = list_of(member(graph, "nodes"), "nodes");
  add_nodes(nodes, 0, nodes.size(), s);
}

}  // namespace tenon::jit::formats
