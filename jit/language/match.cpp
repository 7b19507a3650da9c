// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/language/match.h"

#include <algorithm>
#include <map>

namespace tenon::jit::language {
namespace {

using TypeVariables = std::map<std::string, TypePtr>;

bool has_variables(const Type& t) {
  return t.is(TypeKind::Var) || std::any_of(t.contained().begin(), t.contained().end(),
                                            [](const TypePtr& c) { return has_variables(*c); });
}

bool cannot_match(const Type& formal, const Type& actual, std::string& reason) {
  reason = "Cannot match " + formal.annotation() + " to " + actual.annotation() + ".";
  return false;
}

// Finds what the variables of `formal` stand for.
bool bind_variables(const TypePtr& formal, const TypePtr& actual, TypeVariables& variables,
                    std::string& reason) {
  if (!has_variables(*formal)) return true;
  const auto each = [&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      if (!bind_variables(formal->contained()[i], actual->contained()[i], variables, reason))
        return false;
    }
    return true;
  };
  if (formal->is(TypeKind::Var)) {
    TypePtr& bound = variables[formal->name()];
    TypePtr both = bound ? unify(bound, actual) : actual;
    if (!both) {
      reason = "Type variable '" + formal->name() + "' previously matched to type " +
               bound->annotation() + " is matched to type " + actual->annotation() + ".";
      return false;
    }
    bound = both;
    return true;
  }
  if (formal->is(TypeKind::Optional)) {
    if (actual->is(TypeKind::None)) return true;
    return bind_variables(formal->element(),
                          actual->is(TypeKind::Optional) ? actual->element() : actual, variables,
                          reason);
  }
  if (formal->is(TypeKind::List) && actual->is(TypeKind::Tuple)) {
    TypePtr element;
    for (const TypePtr& t : actual->contained()) {
      element = element ? unify(element, t) : t;
      if (!element) break;
    }
    if (!element) return cannot_match(*formal, *actual, reason);
    return bind_variables(formal->element(), element, variables, reason);
  }
  if (formal->kind() != actual->kind() || formal->contained().size() != actual->contained().size())
    return cannot_match(*formal, *actual, reason);
  return each(formal->contained().size());
}

// Null if a variable is not bound.
TypePtr substitute(const TypePtr& t, const TypeVariables& variables) {
  if (!has_variables(*t)) return t;
  if (t->is(TypeKind::Var)) {
    const auto it = variables.find(t->name());
    return it == variables.end() ? nullptr : it->second;
  }
  std::vector<TypePtr> parts;
  for (const TypePtr& c : t->contained()) {
    parts.push_back(substitute(c, variables));
    if (!parts.back()) return nullptr;
  }
  switch (t->kind()) {
    case TypeKind::Optional:
      return Type::optional(parts[0]);
    case TypeKind::List:
      return Type::list(parts[0]);
    case TypeKind::Dict:
      return Type::dict(parts[0], parts[1]);
    case TypeKind::Tuple:
      return Type::tuple(std::move(parts));
    case TypeKind::Future:
      return Type::future(parts[0]);
    default:
      return t;
  }
}

const TypePtr& without_optional(const TypePtr& t) {
  return t->is(TypeKind::Optional) ? t->element() : t;
}

bool tuple_fits_list(const Type& tuple, const Type& list) {
  return tuple.is(TypeKind::Tuple) && list.is(TypeKind::List) &&
         std::all_of(tuple.contained().begin(), tuple.contained().end(),
                     [&](const TypePtr& t) { return is_subtype(*t, *list.element()); });
}

Value* convert_number(Value* v, const TypePtr& type, Graph& g, const SourceRange& range) {
  const auto emit = [&](const char* kind) {
    return emit_operator(kind, g, range, nullptr, {{"", v, range}});
  };
  const TypeKind from = v->type()->kind(), to = type->kind();
  if (from == TypeKind::Tensor) {
    if (to == TypeKind::Float) return emit("aten::FloatImplicit");
    if (to == TypeKind::Complex) return emit("aten::ComplexImplicit");
    if (to == TypeKind::Int) return emit("aten::IntImplicit");
    if (to == TypeKind::Number) return emit("aten::ScalarImplicit");
  } else if (from == TypeKind::Number || from == TypeKind::Bool) {
    if (to == TypeKind::Float) return emit("aten::Float");
    if (to == TypeKind::Complex) return emit("aten::Complex");
    if (to == TypeKind::Int || (to == TypeKind::Number && from == TypeKind::Bool))
      return emit("aten::Int");
  } else if (from == TypeKind::String && to == TypeKind::Device) {
    return emit("aten::device");
  }
  return v;
}

std::string indented(const std::string& text) {
  std::string out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1);
    out += "  " + text.substr(begin, end - begin + 1);
    begin = end + 1;
  }
  return out;
}

// One attempt at one schema.
class Attempt {
 public:
  Attempt(const FunctionSchema& schema, Graph& graph, const SourceRange& range,
          const std::vector<NamedValue>& args, bool allow_conversions, std::string* why)
      : schema_(schema), graph_(graph), range_(range), conversions_(allow_conversions), why_(why) {
    for (const NamedValue& a : args) (a.name.empty() ? positional_ : keywords_).push_back(&a);
    used_keyword_.resize(keywords_.size());
  }

  std::optional<Match> run() {
    for (std::size_t i = 0; i < schema_.arguments.size(); ++i) {
      if (!argument(i)) return std::nullopt;
    }
    if (schema_.vararg) {
      for (; used_ < positional_.size(); ++used_)
        match_.inputs.push_back(positional_[used_]->value);
    }
    if (used_ < positional_.size())
      return refuse("Expected at most ", used_, " arguments but found ", positional_.size(),
                    " positional arguments.\n");
    for (std::size_t k = 0; k < keywords_.size(); ++k) {
      if (used_keyword_[k]) continue;
      const std::string& name = keywords_[k]->name;
      if (schema_.find_argument(name) < 0)
        return refuse("Unknown keyword argument '", name, "'.\n");
      return refuse("Keyword argument ", name, " specified twice.\n");
    }
    for (const Argument& r : schema_.returns) {
      TypePtr t = substitute(r.type, variables_);
      match_.returns.push_back(t ? t : r.type);
    }
    match_.op = nullptr;
    return std::move(match_);
  }

 private:
  template <class... Parts>
  std::nullopt_t refuse(const Parts&... parts) {
    if (why_) *why_ += "\n" + schema_.str() + ":\n" + core::join(parts...);
    return std::nullopt;
  }

  bool argument(std::size_t i) {
    const Argument& arg = schema_.arguments[i];
    if (!arg.keyword_only && used_ < positional_.size()) {
      if (takes_the_rest(i)) return true;
      return value(arg, positional_[used_++]->value);
    }
    if (const int k = find_keyword(arg.name); k >= 0) {
      used_keyword_[static_cast<std::size_t>(k)] = true;
      return value(arg, keywords_[static_cast<std::size_t>(k)]->value);
    }
    if (arg.default_value) {
      const bool list = without_optional(arg.type)->is(TypeKind::List);
      IValue v = *arg.default_value;
      TypePtr type = list && v.isList() ? without_optional(arg.type) : nullptr;
      if (v.isNone()) type = nullptr;
      return value(arg, graph_.insert_constant(std::move(v), range_, std::move(type)));
    }
    refuse("Argument ", arg.name, " not provided.\n");
    return false;
  }

  int find_keyword(const std::string& name) const {
    const bool aten = schema_.name.compare(0, 6, "aten::") == 0;
    for (std::size_t k = 0; k < keywords_.size(); ++k) {
      const std::string& given = keywords_[k]->name;
      if (given == name ||
          (aten && name == "self" && given == "input" && schema_.find_argument("input") < 0))
        return static_cast<int>(k);
    }
    return -1;
  }

  // torch.zeros(2, 3): further positional arguments are the elements of the last list.
  bool takes_the_rest(std::size_t i) {
    const Argument& arg = schema_.arguments[i];
    const bool last = i + 1 == schema_.arguments.size() || schema_.arguments[i + 1].keyword_only;
    const TypePtr& list = without_optional(arg.type);
    if (!conversions_ || !last || schema_.vararg || !list->is(TypeKind::List) ||
        has_variables(*list) || arg.fixed_length != 0)
      return false;
    const TypePtr& actual = positional_[used_]->value->type();
    if (actual->is(TypeKind::List) || tuple_fits_list(*actual, *list) || actual->is(TypeKind::None))
      return false;
    std::vector<Value*> elements;
    for (std::size_t k = used_; k < positional_.size(); ++k) {
      Value* v = convert(positional_[k]->value, list->element(), graph_, range_, conversions_);
      if (!is_subtype(*v->type(), *list->element())) return false;
      elements.push_back(v);
    }
    used_ = positional_.size();
    match_.inputs.push_back(emit_node(graph_, range_, "prim::ListConstruct", elements, list));
    return true;
  }

  bool value(const Argument& arg, Value* v) {
    const TypePtr& list = without_optional(arg.type);
    const bool one_for_all = arg.fixed_length > 0 && list->is(TypeKind::List) &&
                             (v->type()->is(TypeKind::Int) || v->type()->is(TypeKind::Float)) &&
                             same_type(*v->type(), *list->element());
    if (one_for_all) {
      std::vector<Value*> elements(static_cast<std::size_t>(arg.fixed_length), v);
      v = emit_node(graph_, range_, "prim::ListConstruct", elements, list);
    }
    std::string reason;
    if (!bind_variables(arg.type, v->type(), variables_, reason)) {
      refuse("Could not match type ", v->type()->annotation(), " to ", arg.type->annotation(),
             " in argument '", arg.name, "': ", reason, "\n");
      return false;
    }
    const TypePtr wanted = substitute(arg.type, variables_);
    if (!wanted) {
      if (v->type()->is(TypeKind::None)) return match_.inputs.push_back(v), true;
      refuse("Type variables in type ", arg.type->annotation(),
             " could not be inferred from actual type ", v->type()->annotation(), "\n");
      return false;
    }
    v = convert(v, wanted, graph_, range_, conversions_);
    if (!is_subtype(*v->type(), *wanted)) {
      refuse("Expected a value of type '", wanted->annotation(), "' for argument '", arg.name,
             "' but instead found type '", v->type()->annotation(), "'.\n", hint(*v->type()));
      return false;
    }
    match_.inputs.push_back(v);
    return true;
  }

  static const char* hint(const Type& actual) {
    return actual.is(TypeKind::List) && actual.element()->is(TypeKind::Tensor)
               ? "Empty lists default to List[Tensor]. Add a variable annotation to the assignment "
                 "to create an empty list of another type.\n"
               : "";
  }

  const FunctionSchema& schema_;
  Graph& graph_;
  const SourceRange& range_;
  bool conversions_;
  std::string* why_;
  std::vector<const NamedValue*> positional_, keywords_;
  std::vector<bool> used_keyword_;
  std::size_t used_ = 0;
  TypeVariables variables_;
  Match match_{};
};

[[noreturn]] void unknown_operator(const std::string& name, const SourceRange& range) {
  std::string text = "Unknown builtin op: " + name + ".\n";
  const std::vector<std::string> similar = similar_operators(name);
  if (similar.empty()) {
    text += "Could not find any similar ops to " + name +
            ". This op may not exist or may not be currently supported in TorchScript.\n";
  } else {
    text += "Here are some suggestions: \n";
    for (const std::string& s : similar) text += "\t" + s + "\n";
    text += "\nThe original call is";
  }
  throw ErrorReport(range, text);
}

// Python's rules for a number before a tensor: 2 - x is (-x) + 2.
Value* number_before_tensor(const std::string& name, Graph& g, const SourceRange& range,
                            const std::vector<NamedValue>& args) {
  static const std::map<std::string, std::string> kReflected = {
      {"aten::mul", "aten::mul"}, {"aten::add", "aten::add"}, {"aten::sub", "aten::add"},
      {"aten::div", "aten::mul"}, {"aten::eq", "aten::eq"},   {"aten::ne", "aten::ne"},
      {"aten::lt", "aten::gt"},   {"aten::gt", "aten::lt"},   {"aten::le", "aten::ge"},
      {"aten::ge", "aten::le"}};
  const auto it = kReflected.find(name);
  if (it == kReflected.end() || args.size() != 2 || !args[0].name.empty() ||
      !args[1].name.empty() || !args[1].value->type()->is(TypeKind::Tensor) ||
      !is_subtype(*args[0].value->type(), *Type::number()))
    return nullptr;
  Value* tensor = args[1].value;
  const auto unary = [&](const char* op) {
    return emit_operator(op, g, range, nullptr, {{"", tensor, range}});
  };
  if (name == "aten::sub") tensor = unary("aten::neg");
  if (name == "aten::div") tensor = unary("aten::reciprocal");
  return emit_operator(it->second, g, range, nullptr,
                       {{"", tensor, range}, {"", args[0].value, range}});
}

// Tensors have the operators of bits under the names of functions only.
const std::map<std::string, std::string, std::less<>>& names_of_bits() {
  static const std::map<std::string, std::string, std::less<>> kNames = {
      {"aten::__and__", "aten::bitwise_and"},
      {"aten::__or__", "aten::bitwise_or"},
      {"aten::__xor__", "aten::bitwise_xor"},
      {"aten::__lshift__", "aten::bitwise_left_shift"},
      {"aten::__rshift__", "aten::bitwise_right_shift"},
      {"aten::__iand__", "aten::bitwise_and_"},
      {"aten::__ior__", "aten::bitwise_or_"},
      {"aten::__ixor__", "aten::bitwise_xor_"},
      {"aten::__ilshift__", "aten::bitwise_left_shift_"},
      {"aten::__irshift__", "aten::bitwise_right_shift_"}};
  return kNames;
}
std::string bitwise_name(const std::string& name, Value* self,
                         const std::vector<NamedValue>& args) {
  const auto& names = names_of_bits();
  const auto it = names.find(name);
  if (it == names.end()) return name;
  bool tensor = self && self->type()->is(TypeKind::Tensor);
  for (const NamedValue& a : args) tensor |= a.value->type()->is(TypeKind::Tensor);
  return tensor ? it->second : name;
}

}  // namespace

bool names_bits(std::string_view name) { return names_of_bits().count(name) > 0; }

Value* emit_node(Graph& graph, const SourceRange& range, std::string_view kind,
                 const std::vector<Value*>& inputs, TypePtr type) {
  Node* n = graph.insert(graph.create(kind, inputs, 1));
  n->range = range;
  n->op = find_operator(kind);  // null for what plans know themselves
  return n->output()->set_type(std::move(type));
}

std::vector<Value*> unpack_tuple(Value* tuple, Graph& graph, const SourceRange& range) {
  if (tuple->node()->is("prim::TupleConstruct")) return tuple->node()->inputs();
  const std::vector<TypePtr>& types = tuple->type()->contained();
  Node* n = graph.insert(graph.create("prim::TupleUnpack", {tuple}, types.size()));
  n->range = range;
  for (std::size_t i = 0; i < types.size(); ++i) n->output(i)->set_type(types[i]);
  return n->outputs();
}

Value* convert(Value* v, const TypePtr& type, Graph& g, const SourceRange& range,
               bool allow_conversions) {
  const TypePtr from = v->type();
  if (type->is(TypeKind::Optional) && !from->is(TypeKind::Optional) && !from->is(TypeKind::None))
    return convert(v, type->element(), g, range, allow_conversions);
  if (type->is(TypeKind::List) && v->node()->is("prim::EmptyListLiteral"))
    return emit_node(g, range, "prim::ListConstruct", {}, type);
  if (is_subtype(*from, *type)) return v;
  if (from->is(TypeKind::Tuple)) {
    if (tuple_fits_list(*from, *type))
      return emit_node(g, range, "prim::ListConstruct", unpack_tuple(v, g, range), type);
    if (type->is(TypeKind::Tuple) && type->fields().empty() &&
        type->contained().size() == from->contained().size()) {
      std::vector<Value*> parts = unpack_tuple(v, g, range);
      std::vector<TypePtr> types;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i] = convert(parts[i], type->contained()[i], g, range, allow_conversions);
        types.push_back(parts[i]->type());
      }
      return emit_node(g, range, "prim::TupleConstruct", parts, Type::tuple(std::move(types)));
    }
  }
  if (!allow_conversions) return v;
  if (type->is(TypeKind::List) && from->is(TypeKind::List) &&
      v->node()->is("prim::ListConstruct") && is_subtype(*from->element(), *type->element()))
    return emit_node(g, range, "prim::ListConstruct", v->node()->inputs(), type);
  // Indices: torch has second operators for them, called hacked_twin.
  if (type->is(TypeKind::List) && type->element()->is(TypeKind::Optional) &&
      from->is(TypeKind::List) && from->element()->is(TypeKind::Tensor) &&
      type->element()->element()->is(TypeKind::Tensor))
    return emit_node(g, range, "prim::unchecked_cast", {v}, type);
  return convert_number(v, type, g, range);
}

std::optional<Match> try_schema(const FunctionSchema& schema, Graph& graph,
                                const SourceRange& range, const std::vector<NamedValue>& args,
                                bool allow_conversions, std::string* why) {
  return Attempt(schema, graph, range, args, allow_conversions, why).run();
}

Match match_function(const FunctionSchema& schema, Graph& graph, const SourceRange& range,
                     const std::vector<NamedValue>& args) {
  if (auto m = try_schema(schema, graph, range, args, true, nullptr)) return std::move(*m);
  std::string why;
  (void)try_schema(schema, graph, range, args, true, &why);
  throw ErrorReport(range, why);
}

std::pair<std::size_t, Match> match_functions(const std::vector<const FunctionSchema*>& schemas,
                                              Graph& graph, const SourceRange& range,
                                              const std::vector<NamedValue>& args) {
  if (schemas.size() == 1) return {0, match_function(*schemas[0], graph, range, args)};
  for (bool conversions : {false, true}) {
    for (std::size_t i = 0; i < schemas.size(); ++i) {
      if (auto m = try_schema(*schemas[i], graph, range, args, conversions, nullptr))
        return {i, std::move(*m)};
    }
  }
  std::string why;
  for (const FunctionSchema* s : schemas) (void)try_schema(*s, graph, range, args, true, &why);
  throw ErrorReport(range,
                    "Arguments for call are not valid.\nThe following variants are "
                    "available:\n" +
                        indented(why) + "\nThe original call is");
}

Match match_operator(const std::string& name, Graph& graph, const SourceRange& range, Value* self,
                     const std::vector<NamedValue>& args) {
  const std::vector<const Operator*> candidates = operators_named(name);
  if (candidates.empty()) unknown_operator(name, range);
  std::vector<NamedValue> all;
  if (self) all.push_back({"", self, range});
  all.insert(all.end(), args.begin(), args.end());
  std::vector<const FunctionSchema*> schemas;
  schemas.reserve(candidates.size());
  for (const Operator* op : candidates) schemas.push_back(&op->schema);
  auto [i, match] = match_functions(schemas, graph, range, all);
  match.op = candidates[i];
  return std::move(match);
}

Value* emit_operator(const std::string& given, Graph& graph, const SourceRange& range, Value* self,
                     const std::vector<NamedValue>& args) {
  const std::string name = bitwise_name(given, self, args);
  if (!self) {
    if (Value* v = number_before_tensor(name, graph, range, args)) return v;
  }
  Match m = match_operator(name, graph, range, self, args);
  Node* n = graph.insert(graph.create(name, m.inputs, m.returns.size()));
  n->range = range;
  n->op = m.op;
  for (std::size_t i = 0; i < m.returns.size(); ++i) n->output(i)->set_type(m.returns[i]);
  if (m.returns.size() == 1) return n->output();
  if (m.returns.empty()) return graph.insert_constant(IValue(), range);
  std::vector<std::string> fields;
  for (const Argument& r : m.op->schema.returns) {
    if (!r.name.empty()) fields.push_back(r.name);
  }
  TypePtr type = fields.size() == m.returns.size() ? Type::named_tuple("", fields, m.returns)
                                                   : Type::tuple(m.returns);
  return emit_node(graph, range, "prim::TupleConstruct", n->outputs(), std::move(type));
}

}  // namespace tenon::jit::language
