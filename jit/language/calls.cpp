// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of functions, methods, operators and types.
#include "jit/language/composed.h"
#include "jit/language/emitter.h"

namespace tenon::jit::language {

std::vector<NamedValue> Emitter::arguments(const Expr& e, std::size_t skip) {
  std::vector<NamedValue> out;
  for (std::size_t i = skip; i < e.args.size(); ++i) {
    const Expr& a = *e.args[i];
    if (a.kind != ExprKind::Starred) {
      out.push_back({"", expression(a), a.range});
      continue;
    }
    const Iteration over = iterate(sugared(*a.a), a.range);
    TENON_PROGRAM_CHECK(over.unrolled, a.range,
                        "a starred argument needs a tuple, whose length is known");
    for (const SugarPtr& s : over.items) out.push_back({"", as_value(s, a.range), a.range});
  }
  for (const Keyword& k : e.keywords) out.push_back({k.name, expression(*k.value), k.value->range});
  return out;
}

SugarPtr Emitter::call(const Expr& e, const TypePtr& hint) {
  const SugarPtr callee = sugared(*e.a);
  if (callee->is(SugarKind::Special)) return special(*callee, e, hint);
  return call_sugar(callee, arguments(e), e.a->range, hint);
}

SugarPtr Emitter::call_sugar(const SugarPtr& callee, const std::vector<NamedValue>& args,
                             const SourceRange& range, const TypePtr& hint) {
  switch (callee->kind) {
    case SugarKind::Operator:
      return as_sugar(call_builtin(*callee, args, range, hint));
    case SugarKind::Cast:
      return as_sugar(cast(*callee, args, range));
    case SugarKind::Function:
      return as_sugar(call_function(*callee->function, args, range));
    case SugarKind::Method:
      return as_sugar(call_method(callee->value, callee->name, args, range));
    case SugarKind::Type:
      return call_type(callee->type, args, range);
    case SugarKind::Value: {
      Value* v = callee->value;
      if (const ClassType* c = as_class(v->type())) {
        const char* method = c->is_module_class() ? "forward" : "__call__";
        if (c->is_module_class() && c->find_method("__call__")) method = "__call__";
        return as_sugar(call_method(v, method, args, range));
      }
      if (v->type()->is(TypeKind::Interface))
        return as_sugar(call_method(v, "forward", args, range));
      throw ErrorReport(range, "'" + v->type()->annotation() + "' object is not callable");
    }
    default:
      throw ErrorReport(range, std::string(kind_name(*callee)) + " cannot be called here");
  }
}

Value* Emitter::call_builtin(const Sugar& s, const std::vector<NamedValue>& args,
                             const SourceRange& range, const TypePtr& hint) {
  if (s.name == "prim::tolist") {
    TENON_PROGRAM_CHECK(!args.empty(), range, "tolist expects a tensor");
    return special_tolist(args[0].value, hint, range);
  }
  const int64_t version = scope_->resolver ? scope_->resolver->operator_version : 0;
  if (const std::string composed = composed_function(version, s.name, s.value, args);
      !composed.empty()) {
    std::vector<NamedValue> all = args;
    if (s.value) all.insert(all.begin(), {"", s.value, range});
    return call_function(*functional(*scope_->unit, composed), all, range);
  }
  if (s.name == "prim::EnumName" || s.name == "prim::EnumValue") {
    TENON_PROGRAM_CHECK(args.size() == 1 && args[0].value->type()->is(TypeKind::Enum), range,
                        s.name, " expects an enum");
    return as_value(
        attribute_of_value(args[0].value, s.name == "prim::EnumName" ? "name" : "value", range),
        range);
  }
  if (s.name == "prim::unchecked_unwrap_optional" || s.name == "aten::_unwrap_optional") {
    TENON_PROGRAM_CHECK(args.size() == 1, range, s.name, " expects one argument");
    const TypePtr& t = args[0].value->type();
    if (s.name == "prim::unchecked_unwrap_optional" && t->is(TypeKind::Optional))
      return emit_node(g_, range, "prim::unchecked_cast", {args[0].value}, t->element());
    if (!is_subtype(*Type::none(), *t)) return args[0].value;
  }
  Value* out = emit_operator(s.name, g_, range, s.value, args);
  if (s.name == "profiler::_record_function_enter_new") {
    // The archive declares torch's class of C++, without methods.
    if (const TypePtr t =
            scope_->unit->find_type("__torch__.torch.classes.profiler._RecordFunction"))
      out->set_type(t);
  }
  return out;
}

Value* Emitter::call_function(Function& f, const std::vector<NamedValue>& args,
                              const SourceRange& range) {
  TENON_PROGRAM_CHECK(!f.is_being_defined(), range, "function '", f.name(),
                      "' is called recursively. Recursive calls are not supported");
  const Match m = match_function(f.schema(), g_, range, args);
  Value* out = emit_node(g_, range, "prim::CallFunction", m.inputs, m.returns.at(0));
  out->node()->set("name", f.qualified_name());
  out->node()->function = &f;
  return out;
}

Value* Emitter::call_method(Value* self, const std::string& name, std::vector<NamedValue> args,
                            const SourceRange& range) {
  const FunctionSchema* schema = nullptr;
  if (const ClassType* c = as_class(self->type())) {
    Function* f = c->find_method(name);
    TENON_PROGRAM_CHECK(f, range, "'", c->annotation(), "' object has no method '", name, "'");
    TENON_PROGRAM_CHECK(!f->is_being_defined(), range, "method '", name,
                        "' is called recursively. Recursive calls are not supported");
    schema = &f->schema();
  } else if (self->type()->is(TypeKind::Interface)) {
    for (const FunctionSchema& m : static_cast<const InterfaceType&>(*self->type()).methods) {
      if (m.name == name) schema = &m;
    }
  }
  TENON_PROGRAM_CHECK(schema, range, "'", self->type()->annotation(), "' object has no method '",
                      name, "'");
  args.insert(args.begin(), NamedValue{"", self, range});
  const Match m = match_function(*schema, g_, range, args);
  Value* out = emit_node(g_, range, "prim::CallMethod", m.inputs, m.returns.at(0));
  out->node()->set("name", name);
  return out;
}

SugarPtr Emitter::call_type(const TypePtr& type, const std::vector<NamedValue>& args,
                            const SourceRange& range) {
  if (type->is(TypeKind::Tuple) && !type->fields().empty())
    return as_sugar(construct_named_tuple(type, args, range));
  const ClassType* cls = as_class(type);
  TENON_PROGRAM_CHECK(cls, range, "type '", type->annotation(), "' cannot be called");
  TENON_PROGRAM_CHECK(!cls->is_module_class(), range, "Cannot create an instance of the module '",
                      cls->annotation(), "' in a program");
  // What __init__ assigns is what the object has.
  if (Function* init = cls->find_method("__init__"); init && !init->is_being_defined())
    init->ensure_defined();
  Value* object = emit_node(g_, range, "prim::CreateObject", {}, type);
  if (cls->find_method("__init__")) {
    (void)call_method(object, "__init__", args, range);
  } else {
    TENON_PROGRAM_CHECK(args.empty(), range, "'", cls->annotation(),
                        "' takes no arguments, as it has no __init__");
  }
  return as_sugar(object);
}

Value* Emitter::construct_named_tuple(const TypePtr& type, const std::vector<NamedValue>& args,
                                      const SourceRange& range) {
  FunctionSchema schema;
  schema.name = type->name();
  for (std::size_t i = 0; i < type->fields().size(); ++i) {
    Argument a;
    a.name = type->fields()[i];
    a.type = type->contained()[i];
    a.default_value = type->field_defaults()[i];
    schema.arguments.push_back(std::move(a));
  }
  Argument result;
  result.type = type;
  schema.returns.push_back(std::move(result));
  const Match m = match_function(schema, g_, range, args);
  return emit_node(g_, range, "prim::TupleConstruct", m.inputs, type);
}

Value* Emitter::cast(const Sugar& s, const std::vector<NamedValue>& args,
                     const SourceRange& range) {
  if (args.empty()) {
    switch (s.type->kind()) {
      case TypeKind::Int:
        return constant(0, range);
      case TypeKind::Float:
        return constant(0.0, range);
      case TypeKind::Bool:
        return constant(false, range);
      case TypeKind::String:
        return constant(std::string(), range);
      default:
        break;
    }
  }
  if (args.size() == 1) {
    Value* v = args[0].value;
    if (is_subtype(*v->type(), *s.type)) return v;
    static const std::map<std::string, const char*> kMethods = {{"aten::Int", "__int__"},
                                                                {"aten::Float", "__float__"},
                                                                {"aten::Complex", "__complex__"},
                                                                {"aten::Bool", "__bool__"},
                                                                {"aten::str", "__str__"}};
    return magic(kMethods.at(s.name), s.name, range, {v});
  }
  return emit_operator(s.name, g_, range, nullptr, args);
}

}  // namespace tenon::jit::language
