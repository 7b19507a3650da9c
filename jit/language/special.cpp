// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Forms that look like calls, but whose arguments are types, names or sequences.
#include "jit/language/emitter.h"

namespace tenon::jit::language {

SugarPtr Emitter::special(const Sugar& s, const Expr& e, const TypePtr& hint) {
  const std::string& f = s.name;
  const auto value = [](Value* v) { return as_sugar(v); };
  const auto one_argument = [&] {
    TENON_PROGRAM_CHECK(e.args.size() == 1 && e.keywords.empty(), e.range, f,
                        " expects one argument");
  };
  if (f == "print") return value(special_print(e));
  if (f == "range") return special_range(e);
  if (f == "zip" || f == "enumerate") return special_sequence(f, e);
  if (f == "isinstance" || f == "is_scripting" || f == "is_tracing")
    return value(condition(e).value);
  if (f == "hasattr") return value(special_hasattr(e));
  if (f == "getattr") return special_getattr(e);
  if (f == "annotate") return value(special_annotate(e));
  if (f == "unchecked_cast") {
    TENON_PROGRAM_CHECK(e.args.size() == 2, e.range, "unchecked_cast expects a type and a value");
    return value(emit_node(g_, e.range, "prim::unchecked_cast", {expression(*e.args[1])},
                           type_argument(e, 0)));
  }
  if (f == "uninitialized") return value(uninitialized(e.range, type_argument(e, 0)));
  if (f == "fork") return value(special_fork(e));
  if (f == "list") return value(special_list(e, hint));
  if (f == "dict") return value(special_dict(e, hint));
  if (f == "tuple") return special_tuple(e);
  if (f == "super") return make_sugar(SugarKind::Special, "super()");
  if (f.compare(0, 8, "super().") == 0) return value(constant(IValue(), e.range));
  if (f == "__new__") return value(emit_node(g_, e.range, "prim::CreateObject", {}, s.type));
  if (f == "tolist") return value(special_tolist(s.value, hint, e.range));
  if (f == "cast")  // x.float()
    return value(
        emit_operator("aten::to", g_, e.range, s.value, {{"", s.items[0]->value, e.range}}));
  if (f == "is_tensor") {
    one_argument();
    return value(constant(expression(*e.args[0])->type()->is(TypeKind::Tensor), e.range));
  }
  if (f == "no_grad" || f == "enable_grad")
    return make_sugar(SugarKind::Special, "grad mode", constant(f == "enable_grad", e.range));
  if (f == "set_grad_enabled")
    return one_argument(), make_sugar(SugarKind::Special, f, expression(*e.args[0]));
  if (f == "min" || f == "max") return value(special_extremum(f, e));
  if (f == "len") {
    one_argument();
    const SugarPtr of = sugared(*e.args[0]);
    const bool known_length =
        of->is(SugarKind::Tuple) || (of->value && of->value->type()->is(TypeKind::Tuple));
    if (known_length) {
      return value(constant(static_cast<int64_t>(iterate(of, e.range).items.size()), e.range));
    }
    Value* v = as_value(of, e.range);
    const ClassType* c = as_class(v->type());
    if (c && !c->find_method("__len__")) {
      if (const auto modules = children(v, e.range, false))
        return value(constant(static_cast<int64_t>(modules->size()), e.range));
    }
    return value(magic("__len__", "aten::len", e.a->range, {v}));
  }
  if (f == "reversed") {
    one_argument();
    const SugarPtr of = sugared(*e.args[0]);
    if (!of->is(SugarKind::Value) || !of->value->type()->is(TypeKind::List)) {
      Iteration over = iterate(of, e.range);
      TENON_PROGRAM_CHECK(over.unrolled, e.range, "reversed expects a list or tuple");
      return as_sequence(SugarKind::Tuple, {over.items.rbegin(), over.items.rend()});
    }
    Value* none = constant(IValue(), e.range);
    return value(
        call_operator("aten::slice", e.range, {of->value, none, none, constant(-1, e.range)}));
  }
  if (f == "sorted") {
    Expr plain = e;
    plain.keywords.clear();
    Value* sorted = emit_operator("aten::sorted", g_, e.a->range, nullptr, arguments(plain));
    if (e.keywords.empty()) return value(sorted);
    TENON_PROGRAM_CHECK(e.keywords.size() == 1 && e.keywords[0].name == "reverse", e.range,
                        "sorted expects a list, and reverse= at most");
    return value(
        (call_operator("aten::sort", e.a->range, {sorted, expression(*e.keywords[0].value)}),
         sorted));
  }
  if (f.compare(0, 8, "modules.") == 0) {
    const std::string what = f.substr(8);
    const bool named = what == "items" || what == "named_children" || what == "keys";
    auto modules = children(s.value, e.range, named);
    TENON_PROGRAM_CHECK(modules, e.range, "'", s.value->type()->annotation(),
                        "' is not a container of modules");
    if (what == "keys") {
      for (SugarPtr& m : *modules) m = m->items[0];
    }
    return as_sequence(SugarKind::Tuple, std::move(*modules));
  }
  throw ErrorReport(e.range, f + " is not supported here");
}

TypePtr Emitter::type_argument(const Expr& e, std::size_t i) {
  TENON_PROGRAM_CHECK(i < e.args.size(), e.range, "expected a type as an argument");
  return annotated_type(*e.args[i], *scope_);
}

SugarPtr Emitter::special_range(const Expr& e) {
  const std::vector<NamedValue> args = arguments(e);
  TENON_PROGRAM_CHECK(!args.empty() && args.size() <= 3 && e.keywords.empty(), e.range,
                      "range expected 1 to 3 arguments, got ", args.size());
  std::vector<SugarPtr> items;
  for (const NamedValue& a : args) {
    Value* v = convert(a.value, Type::integer(), g_, a.range, true);
    TENON_PROGRAM_CHECK(v->type()->is(TypeKind::Int), a.range,
                        "all inputs of range must be ints, found ", a.value->type()->annotation());
    items.push_back(as_sugar(v));
  }
  if (items.size() == 1)
    items = {as_sugar(constant(0, e.range)), items[0], nullptr};
  else if (items.size() == 2)
    items.push_back(as_sugar(constant(1, e.range)));
  return as_sequence(SugarKind::Range, std::move(items));
}

SugarPtr Emitter::special_sequence(const std::string& name, const Expr& e) {
  std::vector<SugarPtr> items;
  for (const ExprPtr& a : e.args) items.push_back(sugared(*a));
  if (name == "zip") {
    TENON_PROGRAM_CHECK(!items.empty() && e.keywords.empty(), e.range,
                        "zip expected at least 1 arguments, got 0");
    return as_sequence(SugarKind::Zip, std::move(items));
  }
  for (const Keyword& k : e.keywords) {
    TENON_PROGRAM_CHECK(k.name == "start" && items.size() == 1, e.range,
                        "enumerate expects something to go over, and start");
    items.push_back(sugared(*k.value));
  }
  TENON_PROGRAM_CHECK(!items.empty() && items.size() <= 2, e.range,
                      "enumerate expects something to go over, and start");
  if (items.size() == 2) items[1] = as_sugar(as_value(items[1], e.range));
  return as_sequence(SugarKind::Enumerate, std::move(items));
}

SugarPtr Emitter::special_getattr(const Expr& e) {
  TENON_PROGRAM_CHECK(
      (e.args.size() == 2 || e.args.size() == 3) && e.args[1]->kind == ExprKind::String, e.range,
      "getattr's second argument must be a string literal");
  const SugarPtr of = sugared(*e.args[0]);
  if (e.args.size() == 3 && of->is(SugarKind::Value) && !has_attribute(of->value, e.args[1]->text))
    return sugared(*e.args[2]);
  return attribute(of, e.args[1]->text, e.range);
}

Value* Emitter::special_hasattr(const Expr& e) {
  TENON_PROGRAM_CHECK(e.args.size() == 2 && e.args[1]->kind == ExprKind::String, e.range,
                      "hasattr's second argument must be a string literal");
  return constant(has_attribute(expression(*e.args[0]), e.args[1]->text), e.range);
}

Value* Emitter::special_list(const Expr& e, const TypePtr& hint) {
  TENON_PROGRAM_CHECK(e.args.size() <= 1 && e.keywords.empty(), e.range,
                      "list expects one argument at most");
  if (e.args.empty()) {
    Expr empty = e;
    empty.args.clear();
    return list_literal(empty, hint);
  }
  const SugarPtr of = sugared(*e.args[0]);
  if (of->is(SugarKind::Value)) {
    const TypeKind kind = of->value->type()->kind();
    if (kind == TypeKind::List || kind == TypeKind::String)
      return call_operator("aten::list", e.range, {of->value});
    if (kind == TypeKind::Dict) return call_operator("aten::keys", e.range, {of->value});
  }
  return collect(of, e.range, hint);
}

Value* Emitter::special_dict(const Expr& e, const TypePtr& hint) {
  Value* out = nullptr;
  if (e.args.empty()) {
    Expr literal = e;
    literal.args.clear();
    for (const Keyword& k : e.keywords) {
      auto key = std::make_shared<Expr>();
      key->kind = ExprKind::String;
      key->range = k.value->range;
      key->text = k.name;
      literal.args.insert(literal.args.end(), {key, k.value});
    }
    return dict_literal(literal, hint);
  }
  TENON_PROGRAM_CHECK(e.args.size() == 1 && e.keywords.empty(), e.range,
                      "dict expects one argument");
  const SugarPtr of = sugared(*e.args[0]);
  if (of->is(SugarKind::Value) && of->value->type()->is(TypeKind::Dict))
    return call_operator("aten::dict", e.range, {of->value});
  const TypePtr wanted = hint && hint->is(TypeKind::Dict) ? hint : nullptr;
  out = emit_node(g_, e.range, "prim::DictConstruct", {}, wanted);
  comprehension_loop(iterate(of, e.range), nullptr, e.range, [&](const SugarPtr& item) {
    const Iteration pair = iterate(item, e.range);
    TENON_PROGRAM_CHECK(pair.unrolled && pair.items.size() == 2, e.range,
                        "dict expects pairs of a key and a value");
    Value* k = as_value(pair.items[0], e.range);
    Value* v = as_value(pair.items[1], e.range);
    if (!out->type()) out->set_type(Type::dict(k->type(), v->type()));
    (void)call_operator("aten::_set_item", e.range, {out, k, v});
  });
  if (!out->type()) out->set_type(Type::dict(Type::string(), Type::tensor()));
  return out;
}

SugarPtr Emitter::special_tuple(const Expr& e) {
  TENON_PROGRAM_CHECK(e.args.size() <= 1 && e.keywords.empty(), e.range,
                      "tuple expects one argument at most");
  if (e.args.empty()) return as_sequence(SugarKind::Tuple, {});
  const SugarPtr of = sugared(*e.args[0]);
  if (of->is(SugarKind::Value) && of->value->node()->is("prim::ListConstruct")) {
    // A literal: its length is known.
    std::vector<SugarPtr> items;
    for (Value* v : of->value->node()->inputs()) items.push_back(as_sugar(v));
    if (e.args[0]->kind == ExprKind::List) return as_sequence(SugarKind::Tuple, std::move(items));
  }
  Iteration over = iterate(of, e.range);
  TENON_PROGRAM_CHECK(over.unrolled, e.range,
                      "cannot convert a list to a tuple: its length is not known");
  return as_sequence(SugarKind::Tuple, std::move(over.items));
}

Value* Emitter::special_print(const Expr& e) {
  std::vector<NamedValue> args;
  for (const NamedValue& a : arguments(e)) {
    if (a.name.empty()) args.push_back(a);
  }
  return emit_operator("prim::Print", g_, e.range, nullptr, args);
}

Value* Emitter::special_annotate(const Expr& e) {
  TENON_PROGRAM_CHECK(e.args.size() == 2 && e.keywords.empty(), e.range,
                      "annotate expects a type and a value");
  const TypePtr type = type_argument(e, 0);
  Value* v = convert(expression(*e.args[1], type), type, g_, e.range, true);
  TENON_PROGRAM_CHECK(is_subtype(*v->type(), *type), e.range, "expected an expression of type ",
                      type->annotation(), " but found ", v->type()->annotation());
  if (same_type(*v->type(), *type)) return v;
  if (v->type()->is(TypeKind::None)) return constant(IValue(), e.range, type);
  return emit_node(g_, e.range, "prim::unchecked_cast", {v}, type);
}

// min(a, b), min(list), min(a, b, c)
Value* Emitter::special_extremum(const std::string& name, const Expr& e) {
  std::vector<NamedValue> args = arguments(e);
  if (args.size() > 2 && e.keywords.empty()) {
    std::vector<Value*> values;
    values.reserve(args.size());
    for (const NamedValue& a : args) values.push_back(a.value);
    args = {{"", list_of(std::move(values), nullptr, e.range), e.range}};
  }
  const bool tensor = args.size() == 1 && args[0].value->type()->is(TypeKind::Tensor);
  return emit_operator((tensor ? "aten::" : "prim::") + name, g_, e.a->range, nullptr, args);
}

// The annotation around it says what the lists hold, and how deep they are.
Value* Emitter::special_tolist(Value* tensor, const TypePtr& hint, const SourceRange& range) {
  TENON_PROGRAM_CHECK(hint, range,
                      "Expected type hint for result of tolist(): annotate the variable");
  TypePtr element = hint;
  int64_t dims = 0;
  for (; element->is(TypeKind::List); element = element->element()) ++dims;
  const int64_t kind = element->is(TypeKind::Int)       ? 0
                       : element->is(TypeKind::Float)   ? 1
                       : element->is(TypeKind::Bool)    ? 2
                       : element->is(TypeKind::Complex) ? 3
                                                        : -1;
  TENON_PROGRAM_CHECK(kind >= 0, range, element->annotation(),
                      " is not one of the supported element types for tolist: int, float, "
                      "complex, bool");
  return emit_node(g_, range, "prim::tolist",
                   {tensor, constant(dims, range), constant(kind, range)}, hint);
}

// fork(f, args...): f runs in a graph of its own; what it uses are inputs of the node.
Value* Emitter::special_fork(const Expr& e) {
  TENON_PROGRAM_CHECK(!e.args.empty(), e.range, "Expected at least one argument to fork()");
  const SugarPtr callee = sugared(*e.args[0]);
  const std::vector<NamedValue> args = arguments(e, 1);
  Node* n = g_.create("prim::fork", {}, 1);
  n->range = e.range;
  auto graph = std::make_shared<Graph>();
  Emitter inner(scope_, graph, this);
  inner.capture_ = n;
  inner.loops_ = 0;
  TypePtr result;
  if (callee->is(SugarKind::Closure)) {
    TENON_PROGRAM_CHECK(args.empty() && callee->closure->params.empty(), e.range,
                        "a function inside of a function is forked without arguments");
    result = inner.function(*callee->closure, FunctionSchema(), nullptr);
  } else {
    inner.frame_ = &inner.root_;
    const auto bring = [&](Value* v, const std::string& name) {
      n->add_input(v);
      return graph->add_input(name, v->type());
    };
    auto f = std::make_shared<Sugar>(*callee);
    if (f->value) f->value = bring(f->value, "self");
    std::vector<NamedValue> inside;
    inside.reserve(args.size());
    for (const NamedValue& a : args) inside.push_back({a.name, bring(a.value, a.name), a.range});
    graph->set_insert_point(graph->block());
    Value* out = inner.as_value(inner.call_sugar(f, inside, e.range, nullptr), e.range);
    graph->register_output(out);
    result = out->type();
  }
  clean_up(*graph);
  g_.insert(n);
  n->set("Subgraph", graph);
  return n->output()->set_type(Type::future(result));
}

}  // namespace tenon::jit::language
