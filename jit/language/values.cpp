// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Expressions but for calls, attributes and subscripts.
#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

struct OperatorNames {
  const char *op, *method;
};
const OperatorNames& binary_operator(const std::string& text) {
  static const std::map<std::string, OperatorNames> kNames = {
      {"+", {"aten::add", "__add__"}},
      {"-", {"aten::sub", "__sub__"}},
      {"*", {"aten::mul", "__mul__"}},
      {"/", {"aten::div", "__truediv__"}},
      {"//", {"aten::floordiv", "__floordiv__"}},
      {"%", {"aten::remainder", "__mod__"}},
      {"**", {"aten::pow", "__pow__"}},
      {"@", {"aten::matmul", "__matmul__"}},
      {"&", {"aten::__and__", "__and__"}},
      {"|", {"aten::__or__", "__or__"}},
      {"^", {"aten::__xor__", "__xor__"}},
      {"<<", {"aten::__lshift__", "__lshift__"}},
      {">>", {"aten::__rshift__", "__rshift__"}},
      {"==", {"aten::eq", "__eq__"}},
      {"!=", {"aten::ne", "__ne__"}},
      {"<", {"aten::lt", "__lt__"}},
      {"<=", {"aten::le", "__le__"}},
      {">", {"aten::gt", "__gt__"}},
      {">=", {"aten::ge", "__ge__"}}};
  return kNames.at(text);
}

TypePtr element_hint(const TypePtr& hint, TypeKind kind) {
  if (!hint) return nullptr;
  const TypePtr& t = hint->is(TypeKind::Optional) ? hint->element() : hint;
  if (t->is(kind)) return t;
  if (t->is(TypeKind::Union)) {
    for (const TypePtr& m : t->contained()) {
      if (m->is(kind)) return m;
    }
  }
  return nullptr;
}

}  // namespace

Value* Emitter::expression(const Expr& e, const TypePtr& hint) {
  Recursion guard(e.range);
  switch (e.kind) {
    case ExprKind::Integer:
      TENON_PROGRAM_CHECK(e.text.empty(), e.range,
                          "Number is too big to be represented in type int");
      return constant(e.integer, e.range);
    case ExprKind::Float:
      return constant(e.number, e.range);
    case ExprKind::Imaginary:
      return constant(std::complex<double>(0, e.number), e.range);
    case ExprKind::String:
      return constant(e.text, e.range);
    case ExprKind::True:
    case ExprKind::False:
      return constant(e.kind == ExprKind::True, e.range);
    case ExprKind::None:
      return constant(IValue(), e.range);
    case ExprKind::Unary:
      return unary(e);
    case ExprKind::Binary:
      return binary(e);
    case ExprKind::Compare:
    case ExprKind::CompareChain:
      return compare(e);
    case ExprKind::And:
    case ExprKind::Or:
      return condition(e).value;
    case ExprKind::IfElse:
      return ternary(e, hint);
    case ExprKind::List:
      return list_literal(e, hint);
    case ExprKind::Dict:
      return dict_literal(e, hint);
    case ExprKind::ListComp:
    case ExprKind::DictComp:
      return comprehension(e, hint);
    case ExprKind::FString:
      return formatted_string(e);
    case ExprKind::Tuple:
    case ExprKind::Name:
    case ExprKind::Attribute:
    case ExprKind::Call:
    case ExprKind::Subscript:
      return as_value(sugared(e, hint), e.range);
    case ExprKind::Lambda:
      throw ErrorReport(e.range, "lambda functions are not supported");
    case ExprKind::Starred:
      throw ErrorReport(e.range, "Unexpected starred expansion. File a bug report.");
    case ExprKind::Slice:
    case ExprKind::Ellipsis:
      break;
  }
  throw ErrorReport(e.range, "slices and '...' are supported only as an index");
}

SugarPtr Emitter::sugared(const Expr& e, const TypePtr& hint) {
  Recursion guard(e.range);
  switch (e.kind) {
    case ExprKind::Name:
      return lookup(e.text, e.range);
    case ExprKind::Attribute: {
      const std::string dotted = dotted_name(e);
      if (dotted.compare(0, 10, "__torch__.") == 0 && !find_variable("__torch__"))
        return of_program(dotted, e.range);
      return attribute(sugared(*e.a), e.text, e.range);
    }
    case ExprKind::Call:
      return call(e, hint);
    case ExprKind::Subscript:
      return sugared_subscript(e, hint);
    case ExprKind::Tuple: {
      const bool starred = std::any_of(e.args.begin(), e.args.end(), [](const ExprPtr& a) {
        return a->kind == ExprKind::Starred;
      });
      if (starred) return as_sugar(tuple_literal(e, hint));
      const TypePtr wanted = element_hint(hint, TypeKind::Tuple);
      std::vector<SugarPtr> items;
      bool plain = true;
      for (std::size_t i = 0; i < e.args.size(); ++i) {
        const bool known = wanted && wanted->contained().size() == e.args.size();
        items.push_back(sugared(*e.args[i], known ? wanted->contained()[i] : nullptr));
        plain &= items.back()->is(SugarKind::Value);
      }
      SugarPtr tuple = as_sequence(SugarKind::Tuple, std::move(items));
      return plain ? as_sugar(as_value(tuple, e.range)) : tuple;
    }
    default:
      return as_sugar(expression(e, hint));
  }
}

Value* Emitter::as_value(const SugarPtr& s, const SourceRange& range) {
  if (s->is(SugarKind::Value)) return s->value;
  TENON_PROGRAM_CHECK(s->is(SugarKind::Tuple), range, kind_name(*s), " cannot be used as a value");
  std::vector<Value*> parts;
  std::vector<TypePtr> types;
  for (const SugarPtr& item : s->items) {
    parts.push_back(as_value(item, range));
    types.push_back(parts.back()->type());
  }
  return emit_node(g_, range, "prim::TupleConstruct", parts, Type::tuple(std::move(types)));
}

Value* Emitter::tuple_literal(const Expr& e, const TypePtr&) {
  std::vector<Value*> parts;
  std::vector<TypePtr> types;
  for (const ExprPtr& a : e.args) {
    if (a->kind == ExprKind::Starred) {
      const Iteration over = iterate(sugared(*a->a), a->range);
      TENON_PROGRAM_CHECK(over.unrolled, a->range,
                          "a starred expression needs a tuple, whose length is known");
      for (const SugarPtr& item : over.items) parts.push_back(as_value(item, a->range));
    } else {
      parts.push_back(expression(*a));
    }
  }
  types.reserve(parts.size());
  for (Value* v : parts) types.push_back(v->type());
  return emit_node(g_, e.range, "prim::TupleConstruct", parts, Type::tuple(std::move(types)));
}

Value* Emitter::list_of(std::vector<Value*> values, const TypePtr& hint, const SourceRange& range) {
  TypePtr element;
  if (hint) {
    element = hint->element();
    for (Value*& v : values) {
      v = convert(v, element, g_, range, true);
      if (!is_subtype(*v->type(), *element)) element = nullptr;
      if (!element) break;
    }
  }
  if (!element) {
    for (Value* v : values) {
      TypePtr both = element ? unify(element, v->type()) : v->type();
      TENON_PROGRAM_CHECK(both, range, "Expected all elements of the list to be of one type: ",
                          element->annotation(), " and ", v->type()->annotation());
      element = both;
    }
  }
  return emit_node(g_, range, "prim::ListConstruct", values, Type::list(element));
}

Value* Emitter::list_literal(const Expr& e, const TypePtr& hint) {
  const TypePtr wanted = element_hint(hint, TypeKind::List);
  std::vector<Value*> values;
  for (const ExprPtr& a : e.args) {
    if (a->kind == ExprKind::Starred) {
      const Iteration over = iterate(sugared(*a->a), a->range);
      TENON_PROGRAM_CHECK(over.unrolled, a->range,
                          "a starred expression needs a tuple, whose length is known");
      for (const SugarPtr& item : over.items) values.push_back(as_value(item, a->range));
    } else {
      values.push_back(expression(*a, wanted ? wanted->element() : nullptr));
    }
  }
  if (!values.empty()) return list_of(std::move(values), wanted, e.range);
  if (wanted) return emit_node(g_, e.range, "prim::ListConstruct", {}, wanted);
  return emit_node(g_, e.range, "prim::EmptyListLiteral", {}, Type::list(Type::tensor()));
}

Value* Emitter::dict_literal(const Expr& e, const TypePtr& hint) {
  const TypePtr wanted = element_hint(hint, TypeKind::Dict);
  TypePtr types[2] = {wanted ? wanted->contained()[0] : nullptr,
                      wanted ? wanted->contained()[1] : nullptr};
  std::vector<Value*> parts;
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    TypePtr& t = types[i % 2];
    Value* v = expression(*e.args[i], wanted ? t : nullptr);
    if (wanted) v = convert(v, t, g_, e.range, true);
    TypePtr both =
        t ? wanted ? is_subtype(*v->type(), *t) ? t : nullptr : unify(t, v->type()) : v->type();
    TENON_PROGRAM_CHECK(both, e.args[i]->range, i % 2 ? "Dict values" : "Dict keys",
                        " must contain only a single type. Expected: ", t->annotation(),
                        " but found ", v->type()->annotation(), " instead");
    t = both;
    parts.push_back(v);
  }
  if (e.args.empty() && !wanted) types[0] = Type::string(), types[1] = Type::tensor();
  return emit_node(g_, e.range, "prim::DictConstruct", parts, Type::dict(types[0], types[1]));
}

Value* Emitter::ternary(const Expr& e, const TypePtr& hint) {
  const Condition c = condition(*e.b);
  if (c.known) {
    refine(*c.known ? c.if_true : c.if_false, e.range);
    return expression(*c.known ? *e.a : *e.c, hint);
  }
  Node* n = g_.insert(g_.create("prim::If", {c.value}, 1));
  n->range = e.range;
  Branch branch[2] = {new_branch(n), new_branch(n)};
  Value* v[2];
  for (int i : {0, 1}) {
    in_branch(branch[i], [&] {
      refine(i == 0 ? c.if_true : c.if_false, e.range);
      v[i] = expression(i == 0 ? *e.a : *e.c, hint);
      if (hint) v[i] = convert(v[i], hint, g_, e.range, true);
    });
  }
  TypePtr type = unify(v[0]->type(), v[1]->type());
  if (!type && hint && is_subtype(*v[0]->type(), *hint) && is_subtype(*v[1]->type(), *hint))
    type = hint;
  TENON_PROGRAM_CHECK(type, e.range, "if-expression's true branch has type ",
                      v[0]->type()->annotation(), " but false branch has type ",
                      v[1]->type()->annotation());
  for (int i : {0, 1}) branch[i].block->register_output(v[i]);
  return n->output()->set_type(type);
}

Value* Emitter::call_operator(const std::string& op, const SourceRange& range,
                              const std::vector<Value*>& args) {
  std::vector<NamedValue> named;
  named.reserve(args.size());
  for (Value* v : args) named.push_back({"", v, range});
  return emit_operator(op, g_, range, nullptr, named);
}

Value* Emitter::magic(const char* method, const std::string& op, const SourceRange& range,
                      const std::vector<Value*>& args) {
  if (const ClassType* c = as_class(args[0]->type()); c && c->find_method(method)) {
    std::vector<NamedValue> named;
    for (std::size_t i = 1; i < args.size(); ++i) named.push_back({"", args[i], range});
    return call_method(args[0], method, std::move(named), range);
  }
  return call_operator(op, range, args);
}

Value* Emitter::binary(const Expr& e) {
  Value* left = expression(*e.a);
  Value* right = expression(*e.b);
  if (e.text == "%" && left->type()->is(TypeKind::String)) {
    std::vector<Value*> args{left};
    if (right->type()->is(TypeKind::Tuple)) {
      for (Value* v : unpack_tuple(right, g_, e.range)) args.push_back(v);
    } else {
      args.push_back(right);
    }
    return call_operator("aten::percentFormat", e.range, args);
  }
  const OperatorNames& names = binary_operator(e.text);
  if (e.text == "//" && left->type()->is(TypeKind::Tensor))
    return call_operator("aten::floor_divide", e.range, {left, right});
  return magic(names.method, names.op, e.range, {left, right});
}

Value* Emitter::unary(const Expr& e) {
  if (e.text == "not") return condition(e).value;
  Value* v = expression(*e.a);
  if (e.text == "+") return v;
  return e.text == "-" ? magic("__neg__", "aten::neg", e.range, {v})
                       : magic("__invert__", "aten::bitwise_not", e.range, {v});
}

Value* Emitter::compare_values(const std::string& op, Value* left, Value* right,
                               const SourceRange& range) {
  if (op == "in" || op == "not in") {
    Value* v = magic("__contains__", "aten::__contains__", range, {right, left});
    return op == "in" ? v : call_operator("aten::__not__", range, {v});
  }
  if (op == "is" || op == "is not")
    return call_operator(op == "is" ? "aten::__is__" : "aten::__isnot__", range, {left, right});
  const auto enum_type = [](Value* v) { return v->type()->is(TypeKind::Enum); };
  if (enum_type(left) && enum_type(right) && (op == "==" || op == "!=")) {
    if (left->type() != right->type()) return constant(op == "!=", range);
    left = enum_value(left, range);
    right = enum_value(right, range);
  }
  const OperatorNames& names = binary_operator(op);
  return magic(names.method, names.op, range, {left, right});
}

Value* Emitter::compare(const Expr& e) {
  if (e.kind == ExprKind::Compare) {
    if (e.text == "is" || e.text == "is not") return condition(e).value;
    Value* left = expression(*e.a);
    return compare_values(e.text, left, expression(*e.b), e.range);
  }
  Value* left = expression(*e.args[0]->a);
  Value* all = nullptr;
  for (const ExprPtr& part : e.args) {
    Value* right = expression(*part->b);
    Value* one = to_bool(compare_values(part->text, left, right, part->range), part->range);
    all = all ? call_operator("aten::__and__", e.range, {all, one}) : one;
    left = right;
  }
  return all;
}

Value* Emitter::formatted_string(const Expr& e) {
  std::string text;
  std::vector<Value*> args{nullptr};
  for (const ExprPtr& part : e.args) {
    if (part->kind == ExprKind::String) {
      text += part->text;
    } else {
      text += "{}";
      args.push_back(expression(*part));
    }
  }
  args[0] = constant(text, e.range);
  return call_operator("aten::format", e.range, args);
}

void Emitter::comprehension_loop(const Iteration& over, const Expr* target,
                                 const SourceRange& range,
                                 const std::function<void(const SugarPtr&)>& add) {
  Frame frame;
  frame.parent = frame_;
  frame.level = -1;  // its variables are its own
  Frame* was = frame_;
  const auto one = [&](const SugarPtr& item) {
    frame_ = &frame;
    if (target) assign_to(*target, item, range);
    add(item);
    frame_ = was;
  };
  if (over.unrolled) {
    for (const SugarPtr& item : over.items) {
      frame.variables.clear();
      one(item);
    }
    return;
  }
  Node* loop = g_.create("prim::Loop", {over.length, constant(true, range)}, 0);
  loop->range = range;
  Block* block = loop->add_block();
  Value* index = block->add_input({}, Type::integer());
  g_.insert(loop);
  Graph::InsertPoint point(g_, block);
  one(over.at(index));
  block->register_output(constant(true, range));
}

Value* Emitter::comprehension(const Expr& e, const TypePtr& hint) {
  const bool is_list = e.kind == ExprKind::ListComp;
  const TypePtr wanted = element_hint(hint, is_list ? TypeKind::List : TypeKind::Dict);
  const Iteration over = iterate(sugared(*e.c), e.c->range);
  Value* out =
      emit_node(g_, e.range, is_list ? "prim::ListConstruct" : "prim::DictConstruct", {}, wanted);
  const auto add = [&] {
    const auto value = [&](const Expr& part, std::size_t i) {
      TypePtr t = out->type() ? out->type()->contained()[i] : nullptr;
      Value* v = expression(part, t);
      return t ? convert(v, t, g_, part.range, true) : v;
    };
    Value* first = value(is_list ? *e.a : *e.args[0], 0);
    Value* second = is_list ? nullptr : value(*e.args[1], 1);
    if (!out->type())
      out->set_type(is_list ? Type::list(first->type())
                            : Type::dict(first->type(), second->type()));
    if (is_list)
      (void)call_operator("aten::append", e.range, {out, first});
    else
      (void)call_operator("aten::_set_item", e.range, {out, first, second});
  };
  comprehension_loop(over, e.b.get(), e.range, [&](const SugarPtr&) {
    if (!e.d) return add();
    const Condition c = condition(*e.d);
    if (c.known) {
      if (*c.known) add();
      return;
    }
    Node* n = g_.insert(g_.create("prim::If", {c.value}, 0));
    n->range = e.range;
    Branch a = new_branch(n), b = new_branch(n);
    in_branch(a, [&] {
      refine(c.if_true, e.range);
      add();
    });
    (void)b;
  });
  if (!out->type())  // nothing to go over, and no annotation
    out->set_type(is_list ? Type::list(Type::tensor())
                          : Type::dict(Type::string(), Type::tensor()));
  return out;
}

// list(iterable)
Value* Emitter::collect(const SugarPtr& over, const SourceRange& range, const TypePtr& hint) {
  const Iteration items = iterate(over, range);
  const TypePtr wanted = element_hint(hint, TypeKind::List);
  if (items.unrolled) {
    std::vector<Value*> values;
    for (const SugarPtr& s : items.items) values.push_back(as_value(s, range));
    if (values.empty())
      return emit_node(g_, range, "prim::EmptyListLiteral", {}, Type::list(Type::tensor()));
    return list_of(std::move(values), wanted, range);
  }
  Value* out = emit_node(g_, range, "prim::ListConstruct", {}, wanted);
  comprehension_loop(items, nullptr, range, [&](const SugarPtr& item) {
    Value* v = as_value(item, range);
    if (!out->type()) out->set_type(Type::list(v->type()));
    (void)call_operator("aten::append", range, {out, v});
  });
  return out;
}

}  // namespace tenon::jit::language
