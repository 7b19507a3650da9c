// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Conditions, and what they say of the types of variables.
#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

using Refinements = std::vector<Refinement>;

// Both hold. Of one variable the later, which saw the earlier, is kept.
Refinements both_of(Refinements a, const Refinements& b) {
  for (const Refinement& r : b) {
    std::erase_if(a, [&](const Refinement& x) { return x.name == r.name; });
    a.push_back(r);
  }
  return a;
}

// One of them holds.
Refinements any_of(const Refinements& a, const Refinements& b) {
  Refinements out;
  for (const Refinement& x : a) {
    for (const Refinement& y : b) {
      if (x.name != y.name) continue;
      if (TypePtr t = unify(x.type, y.type)) out.push_back({x.name, t});
    }
  }
  return out;
}

enum class NoneStatus { Always, Maybe, Never };
NoneStatus can_be_none(const Type& t) {
  if (t.is(TypeKind::None)) return NoneStatus::Always;
  if (t.is(TypeKind::Any)) return NoneStatus::Maybe;
  return is_subtype(*Type::none(), t) ? NoneStatus::Maybe : NoneStatus::Never;
}

std::vector<TypePtr> members(const TypePtr& t) {
  if (t->is(TypeKind::Union)) return t->contained();
  if (t->is(TypeKind::Optional)) {
    std::vector<TypePtr> out = members(t->element());
    out.push_back(Type::none());
    return out;
  }
  return {t};
}

TypePtr without_none(const TypePtr& t) {
  if (t->is(TypeKind::Optional)) return t->element();
  std::vector<TypePtr> rest;
  for (const TypePtr& m : members(t)) {
    if (!m->is(TypeKind::None)) rest.push_back(m);
  }
  return rest.empty() ? t : Type::union_of(std::move(rest));
}

}  // namespace

Condition Emitter::known(bool value, const SourceRange& range) {
  Condition c;
  c.known = value;
  c.value = constant(value, range);
  return c;
}

Value* Emitter::to_bool(Value* v, const SourceRange& range) {
  switch (v->type()->kind()) {
    case TypeKind::Bool:
      return v;
    case TypeKind::Tensor:
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Complex:
    case TypeKind::Number:
      return call_operator("aten::Bool", range, {v});
    default:
      break;
  }
  if (const ClassType* c = as_class(v->type()); c && c->find_method("__bool__"))
    return call_method(v, "__bool__", {}, range);
  throw ErrorReport(range, "Could not cast value of type " + v->type()->annotation() + " to bool");
}

Condition Emitter::condition(const Expr& e) {
  Recursion guard(e.range);
  if (e.kind == ExprKind::And || e.kind == ExprKind::Or) return condition_of_and(e);
  if (e.kind == ExprKind::Unary && e.text == "not") {
    Condition c = condition(*e.a);
    std::swap(c.if_true, c.if_false);
    if (c.known) {
      Condition k = known(!*c.known, e.range);
      k.if_true = c.if_true, k.if_false = c.if_false;
      return k;
    }
    c.value = call_operator("aten::__not__", e.range, {c.value});
    return c;
  }
  if (e.kind == ExprKind::Compare && (e.text == "is" || e.text == "is not"))
    return condition_of_none(e);
  if (e.kind == ExprKind::Call) {
    const std::string name = dotted_name(*e.a);
    const std::string root = name.substr(0, name.find('.'));
    if (!find_variable(root)) {
      if (name == "isinstance" || name == "torch.jit.isinstance") return condition_of_isinstance(e);
      if (name == "torch.jit.is_scripting") return known(true, e.range);
      if (name == "torch.jit.is_tracing") return known(false, e.range);
    }
  }
  Condition c;
  c.value = to_bool(expression(e), e.range);
  if (c.value->node()->is("prim::Constant")) c.known = c.value->node()->ival("value").toBool();
  // Archives test what an earlier line computed: `_0 = torch.__isnot__(x, None)` says nothing of x
  // there, as casts are written out.
  return c;
}

// a and b; a or b: the right side is evaluated only if the left does not decide.
Condition Emitter::condition_of_and(const Expr& e) {
  const bool is_and = e.kind == ExprKind::And;
  const Condition left = condition(*e.a);
  const Refinements& when_needed = is_and ? left.if_true : left.if_false;
  if (left.known && *left.known != is_and) return left;
  if (left.known) {
    refine(when_needed, e.range);
    return condition(*e.b);
  }
  Node* n = g_.insert(g_.create("prim::If", {left.value}, 1));
  n->range = e.range;
  Branch a = new_branch(n), b = new_branch(n);
  Condition right;
  in_branch(is_and ? a : b, [&] {
    refine(when_needed, e.range);
    right = condition(*e.b);
    (is_and ? a : b).block->register_output(right.value);
  });
  in_branch(is_and ? b : a,
            [&] { (is_and ? b : a).block->register_output(constant(!is_and, e.range)); });
  Condition c;
  c.value = n->output()->set_type(Type::boolean());
  if (right.known && *right.known != is_and) c.known = *right.known;
  c.if_true = is_and ? both_of(left.if_true, right.if_true) : any_of(left.if_true, right.if_true);
  c.if_false =
      is_and ? any_of(left.if_false, right.if_false) : both_of(left.if_false, right.if_false);
  return c;
}

Condition Emitter::condition_of_none(const Expr& e) {
  const bool is = e.text == "is";
  Value* left = expression(*e.a);
  Value* right = expression(*e.b);
  const NoneStatus l = can_be_none(*left->type()), r = can_be_none(*right->type());
  if (l == NoneStatus::Always && r == NoneStatus::Always) return known(is, e.range);
  if ((l == NoneStatus::Always && r == NoneStatus::Never) ||
      (l == NoneStatus::Never && r == NoneStatus::Always))
    return known(!is, e.range);
  Condition c;
  c.value = call_operator(is ? "aten::__is__" : "aten::__isnot__", e.range, {left, right});
  const auto refined = [&](const Expr& side, Value* v, const Expr& other) {
    if (side.kind != ExprKind::Name || other.kind != ExprKind::None) return;
    (is ? c.if_false : c.if_true).push_back({side.text, without_none(v->type())});
  };
  refined(*e.a, left, *e.b);
  refined(*e.b, right, *e.a);
  return c;
}

Condition Emitter::condition_of_isinstance(const Expr& e) {
  TENON_PROGRAM_CHECK(e.args.size() == 2 && e.keywords.empty(), e.range,
                      "isinstance expects 2 arguments: a value and a type or a tuple of types");
  Value* v = expression(*e.args[0]);
  std::vector<TypePtr> types;
  const Expr& second = *e.args[1];
  const auto add = [&](const Expr& t) {
    const std::string name = dotted_name(t);
    if (name == "list")
      types.push_back(Type::any_list());
    else if (name == "tuple")
      types.push_back(Type::any_tuple());
    else
      types.push_back(annotated_type(t, *scope_));
  };
  if (second.kind == ExprKind::Tuple) {
    for (const ExprPtr& t : second.args) add(*t);
  } else {
    add(second);
  }
  std::vector<TypePtr> yes, no;
  bool unknown = false;  // Any, and interfaces: only the value itself tells
  for (const TypePtr& m : members(v->type())) {
    bool fits = false;
    for (const TypePtr& t : types) fits |= is_subtype(*m, *t);
    unknown |=
        !fits && (m->is(TypeKind::Any) || m->is(TypeKind::Interface) || m->is(TypeKind::Number));
    (fits ? yes : no).push_back(m);
  }
  if (no.empty()) return known(true, e.range);
  if (yes.empty() && !unknown) return known(false, e.range);
  Condition c;
  c.value = emit_node(g_, e.range, "prim::isinstance", {v}, Type::boolean());
  c.value->node()->set("types", types);
  if (e.args[0]->kind != ExprKind::Name) return c;
  const std::string& name = e.args[0]->text;
  if (unknown) {
    const bool named = std::none_of(types.begin(), types.end(), [](const TypePtr& t) {
      return t->is(TypeKind::AnyList) || t->is(TypeKind::AnyTuple);
    });
    if (named) c.if_true.push_back({name, Type::union_of(types)});
    return c;
  }
  c.if_true.push_back({name, Type::union_of(yes)});
  c.if_false.push_back({name, Type::union_of(no)});
  return c;
}

}  // namespace tenon::jit::language
