// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/language/emitter.h"

namespace tenon::jit::language {

Flow Emitter::statements(Statements list) {
  Flow all;
  while (list.first != list.second) {
    const Stmt& s = **list.first++;
    Flow f = statement(s, list);
    const auto add = [&](const Flow& part) {
      all.next = part.next;
      all.returns |= part.returns;
      all.breaks |= part.breaks;
      all.continues |= part.continues;
    };
    add(f);
    if (!f.next) return all;  // the rest cannot be reached, and is not compiled
    if (f.leaves() && list.first != list.second) {
      add(guard(s, list));
      return all;
    }
  }
  return all;
}

Flow Emitter::statement(const Stmt& s, Statements& rest) {
  Recursion guard(s.range);
  switch (s.kind) {
    case StmtKind::Expr:
      if (s.value->kind != ExprKind::String && s.value->kind != ExprKind::Ellipsis)
        emit_expression(s);
      return {};
    case StmtKind::Assign:
      assign(s);
      return {};
    case StmtKind::AugAssign:
      augmented_assign(s);
      return {};
    case StmtKind::Return:
      return emit_return(s);
    case StmtKind::If:
      return emit_if(s, rest);
    case StmtKind::While:
      return emit_while(s);
    case StmtKind::For:
      return emit_for(s);
    case StmtKind::Break:
    case StmtKind::Continue:
      return emit_leave(s);
    case StmtKind::Raise:
      return emit_raise(s);
    case StmtKind::Assert:
      return emit_assert(s);
    case StmtKind::Delete:
      emit_delete(s);
      return {};
    case StmtKind::With:
      return emit_with(s);
    case StmtKind::Def: {
      auto closure = make_sugar(SugarKind::Closure, s.def->name);
      closure->closure = s.def;
      frame_->variables[s.def->name] = closure;
      return {};
    }
    case StmtKind::Pass:
      return {};
    case StmtKind::Global:
      break;
  }
  throw ErrorReport(s.range, "global and nonlocal variables are not supported");
}

void Emitter::assign(const Stmt& s) {
  TypePtr type = s.annotation ? annotated_type(*s.annotation, *scope_) : nullptr;
  if (!s.value) return;  // `x: int` alone promises a type; the assignment that follows has it
  const SugarPtr value = sugared(*s.value, type);
  for (const ExprPtr& t : s.targets) assign_to(*t, value, s.range, type);
}

void Emitter::assign_to(const Expr& target, SugarPtr value, const SourceRange& range,
                        const TypePtr& annotation) {
  switch (target.kind) {
    case ExprKind::Name:
      set_variable(target.text, std::move(value), target.range, annotation);
      return;
    case ExprKind::Tuple:
    case ExprKind::List:
      assign_tuple(target, value, range);
      return;
    case ExprKind::Attribute:
      assign_attribute(target,
                       annotation
                           ? as_sugar(convert(as_value(value, range), annotation, g_, range, true))
                           : value,
                       range);
      return;
    case ExprKind::Subscript:
      assign_subscript(target, as_value(value, range), range);
      return;
    case ExprKind::Starred:
      return assign_to(*target.a, std::move(value), range, annotation);
    default:
      throw ErrorReport(target.range, "unexpected expression on left-hand side of assignment");
  }
}

void Emitter::assign_tuple(const Expr& target, const SugarPtr& value, const SourceRange& range) {
  std::size_t star = target.args.size();
  for (std::size_t i = 0; i < target.args.size(); ++i) {
    if (target.args[i]->kind != ExprKind::Starred) continue;
    TENON_PROGRAM_CHECK(star == target.args.size(), target.range,
                        "Only one starred expression is allowed on the lhs");
    star = i;
  }
  const bool starred = star != target.args.size();
  const std::size_t wanted = target.args.size() - (starred ? 1 : 0);
  std::vector<SugarPtr> items;
  if (value->is(SugarKind::Tuple)) {
    items = value->items;
  } else {
    Value* v = as_value(value, range);
    if (v->type()->is(TypeKind::Tuple)) {
      for (Value* part : unpack_tuple(v, g_, range)) items.push_back(as_sugar(part));
    } else if (v->type()->is(TypeKind::List) && !starred) {
      Node* n = g_.insert(g_.create("prim::ListUnpack", {v}, wanted));
      n->range = range;
      for (Value* out : n->outputs())
        items.push_back(as_sugar(out->set_type(v->type()->element())));
    } else {
      throw ErrorReport(range, v->type()->annotation() + " cannot be used as a tuple");
    }
  }
  TENON_PROGRAM_CHECK(items.size() >= wanted, target.range, "need ", starred ? "at least " : "",
                      wanted, " values to unpack but found only ", items.size());
  TENON_PROGRAM_CHECK(items.size() == wanted || starred, target.range,
                      "too many values to unpack: need ", wanted, " but found ", items.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < target.args.size(); ++i) {
    if (i != star) {
      assign_to(*target.args[i], items[at++], range);
      continue;
    }
    std::vector<Value*> parts;
    std::vector<TypePtr> types;
    for (std::size_t k = 0; k < items.size() - wanted; ++k) {
      parts.push_back(as_value(items[at++], range));
      types.push_back(parts.back()->type());
    }
    assign_to(*target.args[i],
              as_sugar(emit_node(g_, range, "prim::TupleConstruct", parts, Type::tuple(types))),
              range);
  }
}

void Emitter::assign_attribute(const Expr& target, const SugarPtr& value,
                               const SourceRange& range) {
  Value* object = expression(*target.a);
  const ClassType* cls = as_class(object->type());
  TENON_PROGRAM_CHECK(cls, range, "Tried to set an attribute: ", target.text,
                      " on a non-class: ", object->type()->annotation());
  for (const ClassType::Property& p : cls->properties) {
    if (p.name != target.text) continue;
    TENON_PROGRAM_CHECK(p.setter, range, "property '", p.name, "' of ", cls->annotation(),
                        " cannot be set");
    (void)call_method(object, std::string(p.setter->name()), {{"", as_value(value, range), range}},
                      range);
    return;
  }
  Value* v = as_value(value, range);
  const ClassAttribute* a = cls->find_attribute(target.text);
  if (!a && function_name_ == "__init__") {
    cls->self()->add_attribute(target.text, v->type());
    a = cls->find_attribute(target.text);
  }
  TENON_PROGRAM_CHECK(a, range, "Tried to set nonexistent attribute: ", target.text,
                      ". Did you forget to initialize it in __init__()?");
  const TypePtr type = a->type;
  v = convert(v, type, g_, range, true);
  TENON_PROGRAM_CHECK(is_subtype(*v->type(), *type), range,
                      "Wrong type for attribute assignment. "
                      "Expected ",
                      type->annotation(), " but got ", v->type()->annotation());
  Node* n = g_.insert(g_.create("prim::SetAttr", {object, v}, 0));
  n->range = range;
  n->set("name", target.text);
}

void Emitter::assign_subscript(const Expr& target, Value* value, const SourceRange& range) {
  Value* container = expression(*target.a);
  const TypePtr& type = container->type();
  if (type->is(TypeKind::Tensor)) {
    auto [sliced, indices] = index_tensor(container, target.args, target.range);
    value = number_to_tensor(value, sliced, range);
    if (indices.empty()) {
      (void)call_operator("aten::copy_", range, {sliced, value});
    } else {
      (void)call_operator("aten::index_put_", range,
                          {sliced, optional_tensors(indices, range), value});
    }
    return;
  }
  TENON_PROGRAM_CHECK(target.args.size() == 1 && target.args[0]->kind != ExprKind::Slice,
                      target.range,
                      "Sliced expression not yet supported for subscripted assignment");
  TENON_PROGRAM_CHECK(!type->is(TypeKind::Tuple) && !type->is(TypeKind::String), target.range, "'",
                      type->annotation(), "' object does not support item assignment");
  Value* index = expression(*target.args[0]);
  (void)magic("__setitem__", "aten::_set_item", range, {container, index, value});
}

// The operator of `op`=: in place for tensors and lists.
Value* Emitter::augmented(const std::string& op, Value* left, Value* right,
                          const SourceRange& range) {
  static const std::map<std::string, std::pair<const char*, const char*>> kOperators = {
      {"+", {"add", "__iadd__"}},
      {"-", {"sub", "__isub__"}},
      {"*", {"mul", "__imul__"}},
      {"/", {"div", "__itruediv__"}},
      {"%", {"remainder", "__imod__"}},
      {"//", {"floordiv", "__ifloordiv__"}},
      {"**", {"pow", "__ipow__"}},
      {"|", {"__or__", "__ior__"}},
      {"&", {"__and__", "__iand__"}},
      {"^", {"__xor__", "__ixor__"}},
      {"<<", {"__lshift__", "__ilshift__"}},
      {">>", {"__rshift__", "__irshift__"}},
      {"@", {"matmul", "__imatmul__"}}};
  const auto& [name, method] = kOperators.at(op);
  const TypePtr& type = left->type();
  if (const ClassType* c = as_class(type); c && c->find_method(method))
    return call_method(left, method, {{"", right, range}}, range);
  std::string kind = name;
  if (type->is(TypeKind::Tensor)) {
    if (kind == "floordiv")
      kind = "floor_divide_";
    else if (kind.compare(0, 2, "__") == 0)
      kind = method;
    else if (kind != "matmul")
      kind += "_";
  } else if (type->is(TypeKind::List) && (op == "+" || op == "*")) {
    kind += "_";
  }
  const bool plain = kind == name;
  if (plain && as_class(type)) {
    static const std::map<std::string, const char*> kPlain = {
        {"+", "__add__"},   {"-", "__sub__"},       {"*", "__mul__"},     {"/", "__truediv__"},
        {"%", "__mod__"},   {"//", "__floordiv__"}, {"**", "__pow__"},    {"|", "__or__"},
        {"&", "__and__"},   {"^", "__xor__"},       {"<<", "__lshift__"}, {">>", "__rshift__"},
        {"@", "__matmul__"}};
    return magic(kPlain.at(op), "aten::" + kind, range, {left, right});
  }
  return call_operator("aten::" + kind, range, {left, right});
}

void Emitter::augmented_assign(const Stmt& s) {
  const Expr& target = *s.targets[0];
  switch (target.kind) {
    case ExprKind::Name:
    case ExprKind::Attribute: {
      Value* left = expression(target);
      Value* right = expression(*s.value);
      assign_to(target, as_sugar(augmented(s.text, left, right, s.range)), s.range);
      return;
    }
    case ExprKind::Subscript:
      return augmented_subscript(s, target);
    default:
      throw ErrorReport(target.range,
                        "unexpected expression on left-hand side of augmented "
                        "assignment");
  }
}

void Emitter::augmented_subscript(const Stmt& s, const Expr& target) {
  Value* container = expression(*target.a);
  if (container->type()->is(TypeKind::Tensor)) {
    auto [sliced, indices] = index_tensor(container, target.args, target.range);
    Value* right = expression(*s.value);
    if (indices.empty()) {
      (void)augmented(s.text, sliced, right, s.range);
      return;
    }
    Value* list = optional_tensors(indices, s.range);
    Value* item = call_operator("aten::index", s.range, {sliced, list});
    item = augmented(s.text, item, number_to_tensor(right, sliced, s.range), s.range);
    (void)call_operator("aten::index_put_", s.range, {sliced, list, item});
    return;
  }
  TENON_PROGRAM_CHECK(target.args.size() == 1 && target.args[0]->kind != ExprKind::Slice,
                      target.range, "Sliced expression not yet supported for augmented assignment");
  Value* index = expression(*target.args[0]);
  Value* item = magic("__getitem__", "aten::__getitem__", target.range, {container, index});
  item = augmented(s.text, item, expression(*s.value), s.range);
  (void)magic("__setitem__", "aten::_set_item", s.range, {container, index, item});
}

Flow Emitter::emit_return(const Stmt& s) {
  const bool implicit = s.text == "implicit";
  if (implicit && declared_return_ && !is_subtype(*Type::none(), *declared_return_)) {
    throw ErrorReport(function_range_,
                      "Function was not annotated as having type None, but does "
                      "not return along all paths");
  }
  Value* v = s.value ? expression(*s.value, declared_return_) : constant(IValue(), s.range);
  if (declared_return_) {
    v = convert(v, declared_return_, g_, s.range, true);
    TENON_PROGRAM_CHECK(is_subtype(*v->type(), *declared_return_), s.range,
                        "Return value was annotated as having type ",
                        declared_return_->annotation(), " but is actually of type ",
                        v->type()->annotation());
  } else {
    TypePtr both = merged_return_ ? unify(merged_return_, v->type()) : v->type();
    TENON_PROGRAM_CHECK(both, s.range, "Previous return statement returned a value of type ",
                        merged_return_->annotation(),
                        " but this return statement returns a value of type ",
                        v->type()->annotation());
    merged_return_ = both;
  }
  leave_contexts(0, s.range);
  set_hidden("$value", v);
  set_hidden("$returned", constant(true, s.range));
  if (loops_ > 0) {
    set_hidden(flag("skip"), constant(true, s.range));
    set_hidden(flag("stop"), constant(true, s.range));
  }
  return {false, true, false, false};
}

Flow Emitter::emit_leave(const Stmt& s) {
  const bool is_break = s.kind == StmtKind::Break;
  TENON_PROGRAM_CHECK(loops_ > 0, s.range, is_break ? "break" : "continue", " outside of a loop");
  std::size_t inside = contexts_.size();
  while (inside > 0 && contexts_[inside - 1].second >= loops_) --inside;
  leave_contexts(inside, s.range);
  set_hidden(flag("skip"), constant(true, s.range));
  set_hidden(flag("stop"), constant(is_break, s.range));
  return {false, false, is_break, !is_break};
}

Flow Emitter::emit_raise(const Stmt& s) {
  TENON_PROGRAM_CHECK(s.value, s.range, "raise without an exception is not supported");
  const Expr& e = *s.value;
  const bool is_call = e.kind == ExprKind::Call;
  const SugarPtr exception = sugared(is_call ? *e.a : e);
  TENON_PROGRAM_CHECK(exception->is(SugarKind::Exception) ||
                          (exception->is(SugarKind::Type) && as_class(exception->type)),
                      e.range, "raise expects an exception");
  Value* message = nullptr;
  const std::vector<NamedValue> args = is_call ? arguments(e) : std::vector<NamedValue>();
  if (args.empty()) {
    message = constant(std::string(), e.range);
  } else if (args.size() == 1) {
    message = args[0].value;
  } else {
    std::vector<Value*> parts;
    std::vector<TypePtr> types;
    for (const NamedValue& a : args) {
      parts.push_back(a.value);
      types.push_back(a.value->type());
    }
    message = emit_node(g_, e.range, "prim::TupleConstruct", parts, Type::tuple(types));
  }
  if (!message->type()->is(TypeKind::String))
    message = call_operator("aten::str", e.range, {message});
  const std::string cls =
      exception->is(SugarKind::Exception) ? exception->name : exception->type->name();
  (void)call_operator("prim::RaiseException", s.range, {message, constant(cls, s.range)});
  return {false, false, false, false};
}

Flow Emitter::emit_assert(const Stmt& s) {
  const Condition c = condition(*s.value);
  Flow failed{false, false, false, false};
  const auto fail = [&] {
    Value* text = constant(std::string("AssertionError: "), s.range);
    if (s.message && s.message->kind == ExprKind::String) {
      text = constant("AssertionError: " + s.message->text, s.range);
    } else if (s.message) {
      Value* m = expression(*s.message);
      if (!m->type()->is(TypeKind::String)) m = call_operator("aten::str", s.range, {m});
      text = call_operator("aten::add", s.range, {text, m});
    }
    (void)call_operator("prim::RaiseException", s.range, {text});
  };
  if (c.known && *c.known) return refine(c.if_true, s.range), Flow{};
  if (c.known) return fail(), failed;
  Node* n = g_.insert(g_.create("prim::If", {c.value}, 0));
  n->range = s.range;
  Branch a = new_branch(n), b = new_branch(n);
  in_branch(a, [&] { refine(c.if_true, s.value->range); });
  in_branch(b, [&] {
    fail();
    b.flow = failed;
  });
  merge(n, a, b, s.range);
  return {};
}

// Objects of torch.autocast: __enter__ and __exit__ of that class do nothing in archives.
bool is_autocast(const ClassType& cls) {
  constexpr std::string_view kEnd = ".autocast_mode.autocast";
  const std::string_view name = cls.name();
  return name.size() > kEnd.size() && name.substr(name.size() - kEnd.size()) == kEnd;
}

// Whether `with` of it turns the recording of gradients on or off: what torch.no_grad() and
// torch.set_grad_enabled(on) give. Its value is the mode.
static bool is_grad_mode(const Sugar& s) {
  return s.is(SugarKind::Special) && s.value &&
         (s.name == "grad mode" || s.name == "set_grad_enabled");
}

// torch.set_grad_enabled(on) is a statement, too: no_grad of archives is made of it.
void Emitter::emit_expression(const Stmt& s) {
  const SugarPtr v = sugared(*s.value);
  if (is_grad_mode(*v) && v->name == "set_grad_enabled")
    (void)call_operator("aten::set_grad_enabled", s.range, {v->value});
}

// __enter__ and __exit__ of an object of the program, or the recording of gradients.
Flow Emitter::emit_with(const Stmt& s) {
  const std::size_t before = contexts_.size();
  for (const WithItem& item : s.items) {
    const SugarPtr given = sugared(*item.value);
    Value* context = is_grad_mode(*given) ? given->value : as_value(given, item.value->range);
    Value* entered = context;
    if (is_grad_mode(*given)) {
      Value* was = call_operator("aten::is_grad_enabled", s.range, {});
      (void)call_operator("aten::set_grad_enabled", s.range, {context});
      context = was;
    } else {
      const ClassType* cls = as_class(context->type());
      TENON_PROGRAM_CHECK(cls && cls->find_method("__enter__") && cls->find_method("__exit__"),
                          item.value->range, "'", context->type()->annotation(),
                          "' object does not support the context manager protocol: it needs "
                          "__enter__ and __exit__");
      if (is_autocast(*cls))
        context = call_operator("prim::enter_autocast", s.range, {context});
      else
        entered = call_method(context, "__enter__", {}, item.value->range);
    }
    contexts_.emplace_back(context, loops_);
    if (item.target) assign_to(*item.target, as_sugar(entered), item.target->range);
  }
  const Flow flow = body(s.body);
  if (flow.next && !flow.leaves()) {
    leave_contexts(before, s.range);
  } else if (flow.next) {  // some paths have left already
    Node* n = g_.insert(g_.create("prim::If", {find_variable(flag("skip"))->value}, 0));
    n->range = s.range;
    (void)n->add_block();
    Graph::InsertPoint point(g_, n->add_block());
    leave_contexts(before, s.range);
  }
  contexts_.resize(before);
  return flow;
}

void Emitter::leave_contexts(std::size_t down_to, const SourceRange& range) {
  for (std::size_t i = contexts_.size(); i > down_to; --i) {
    Value* context = contexts_[i - 1].first;
    if (context->type()->is(TypeKind::Bool)) {
      (void)call_operator("aten::set_grad_enabled", range, {context});
      continue;
    }
    if (context->type()->is(TypeKind::Any)) {
      (void)call_operator("prim::leave_autocast", range, {context});
      continue;
    }
    Value* none = constant(IValue(), range);
    (void)call_method(context, "__exit__",
                      {{"", none, range}, {"", none, range}, {"", none, range}}, range);
  }
}

void Emitter::emit_delete(const Stmt& s) {
  for (const ExprPtr& t : s.targets) {
    if (t->kind == ExprKind::Name) {
      (void)lookup(t->text, t->range);
      frame_->variables.erase(t->text);
      frame_->errors[t->text] = t->text + " was deleted:\n" + s.range.highlight();
      continue;
    }
    TENON_PROGRAM_CHECK(t->kind == ExprKind::Subscript && t->args.size() == 1 &&
                            t->args[0]->kind != ExprKind::Slice,
                        t->range, "del expects a variable or an element of a list or dictionary");
    Value* container = expression(*t->a);
    Value* index = expression(*t->args[0]);
    (void)magic("__delitem__", "aten::Delete", s.range, {container, index});
  }
}

}  // namespace tenon::jit::language
