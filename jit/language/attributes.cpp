// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attributes of values and types.
#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

// Attributes of tensors that are operators.
const char* tensor_property(const std::string& name) {
  static const std::map<std::string, const char*> kProperties = {
      {"dtype", "prim::dtype"},
      {"device", "prim::device"},
      {"grad", "prim::grad"},
      {"data", "prim::data"},
      {"shape", "aten::size"},
      {"is_cuda", "prim::is_cuda"},
      {"is_cpu", "prim::is_cpu"},
      {"is_sparse", "prim::is_sparse"},
      {"is_quantized", "prim::is_quantized"},
      {"is_meta", "prim::is_meta"},
      {"is_leaf", "aten::is_leaf"},
      {"requires_grad", "prim::requires_grad"},
      {"layout", "prim::layout"},
      {"T", "aten::numpy_T"},
      {"H", "aten::matrix_H"},
      {"mT", "aten::mT"},
      {"mH", "aten::mH"},
      {"itemsize", "prim::itemsize"},
      {"nbytes", "prim::nbytes"},
      {"ndim", "aten::dim"},
      {"real", "aten::real"},
      {"imag", "aten::imag"},
      {"retains_grad", "aten::retains_grad"},
      {"is_mkldnn", "prim::is_mkldnn"},
      {"is_nested", "prim::is_nested"},
      {"is_sparse_csr", "prim::is_sparse_csr"},
      {"is_mps", "prim::is_mps"},
      {"is_xla", "prim::is_xla"}};
  const auto it = kProperties.find(name);
  return it == kProperties.end() ? nullptr : it->second;
}

// x.float(), x.long()
std::optional<ScalarType> cast_method(const std::string& name) {
  static const std::map<std::string, ScalarType> kCasts = {
      {"byte", ScalarType::Byte},   {"char", ScalarType::Char},
      {"short", ScalarType::Short}, {"int", ScalarType::Int},
      {"long", ScalarType::Long},   {"half", ScalarType::Half},
      {"float", ScalarType::Float}, {"double", ScalarType::Double},
      {"bool", ScalarType::Bool},   {"bfloat16", ScalarType::BFloat16}};
  const auto it = kCasts.find(name);
  if (it == kCasts.end()) return std::nullopt;
  return it->second;
}

[[noreturn]] void no_attribute(const Type& type, const std::string& name,
                               const SourceRange& range) {
  throw ErrorReport(
      range, "'" + type.annotation() + "' object has no attribute or method '" + name + "'.");
}

}  // namespace

SugarPtr Emitter::attribute(const SugarPtr& of, const std::string& name, const SourceRange& range) {
  switch (of->kind) {
    case SugarKind::Value:
      return attribute_of_value(of->value, name, range);
    case SugarKind::Namespace:
      return in_namespace(of->name, name, range);
    case SugarKind::Type:
      return attribute_of_type(of->type, name, range);
    case SugarKind::Operator:  // torch.ops.aten.add.Tensor: the arguments tell the overload
      return of;
    case SugarKind::Special:
      if (of->name == "super()") return make_sugar(SugarKind::Special, "super()." + name);
      break;
    default:
      break;
  }
  throw ErrorReport(range, std::string(kind_name(*of)) + " has no attribute '" + name + "'");
}

SugarPtr Emitter::attribute_of_value(Value* v, const std::string& name, const SourceRange& range) {
  const TypePtr type = v->type();
  const auto op = [&](const std::string& kind) {
    return as_sugar(call_operator(kind, range, {v}));
  };
  switch (type->kind()) {
    case TypeKind::Tensor: {
      if (const char* kind = tensor_property(name)) return op(kind);
      if (const auto dtype = cast_method(name)) {
        auto s = make_sugar(SugarKind::Special, "cast", v);
        s->items = {as_sugar(constant(*dtype, range))};
        return s;
      }
      if (name == "tolist") return make_sugar(SugarKind::Special, "tolist", v);
      break;
    }
    case TypeKind::Tuple:
      for (std::size_t i = 0; i < type->fields().size(); ++i) {
        if (type->fields()[i] != name) continue;
        if (v->node()->is("prim::TupleConstruct")) return as_sugar(v->node()->input(i));
        Value* index = constant(static_cast<int64_t>(i), range);
        return as_sugar(emit_node(g_, range, "prim::TupleIndex", {v, index}, type->contained()[i]));
      }
      no_attribute(*type, name, range);
    case TypeKind::Class:
      return attribute_of_class(v, name, range);
    case TypeKind::Interface: {
      const auto& methods = static_cast<const InterfaceType&>(*type).methods;
      for (const FunctionSchema& m : methods) {
        if (m.name == name) return make_sugar(SugarKind::Method, name, v);
      }
      no_attribute(*type, name, range);
    }
    case TypeKind::Enum:
      if (name == "name")
        return as_sugar(emit_node(g_, range, "prim::EnumName", {v}, Type::string()));
      if (name == "value") return as_sugar(enum_value(v, range));
      no_attribute(*type, name, range);
    case TypeKind::Device:
      if (name == "type" || name == "index") return op("prim::" + name);
      break;
    default:
      break;
  }
  if (operators_named("aten::" + name).empty()) no_attribute(*type, name, range);
  return make_sugar(SugarKind::Operator, "aten::" + name, v);
}

Value* Emitter::enum_value(Value* v, const SourceRange& range) {
  const TypePtr& type = v->type()->element();
  Value* out = emit_node(g_, range, "prim::EnumValue", {v}, type);
  out->node()->op = find_operator("prim::EnumValue." + type->str());
  TENON_PROGRAM_CHECK(out->node()->op, range, "values of the enum '", v->type()->annotation(),
                      "' must be ints, floats or strings");
  return out;
}

SugarPtr Emitter::attribute_of_class(Value* v, const std::string& name, const SourceRange& range) {
  const ClassType* cls = as_class(v->type());
  const auto get = [&]() -> SugarPtr {
    if (cls->find_method(name)) return make_sugar(SugarKind::Method, name, v);
    if (const ClassAttribute* a = cls->find_attribute(name)) {
      Value* out = emit_node(g_, range, "prim::GetAttr", {v}, a->type);
      out->node()->set("name", name);
      return as_sugar(out);
    }
    if (const IValue* c = cls->find_constant(name)) return as_sugar(constant(*c, range));
    for (const ClassType::Property& p : cls->properties) {
      if (p.name == name) return as_sugar(call_method(v, std::string(p.getter->name()), {}, range));
    }
    return nullptr;
  };
  if (SugarPtr s = get()) return s;
  // The attributes of a class that is text are those that its __init__ assigns.
  if (Function* init = cls->find_method("__init__"); init && !init->is_being_defined()) {
    init->ensure_defined();
    if (SugarPtr s = get()) return s;
  }
  if (Function* f = scope_->unit->find_function(cls->name() + "." + name)) {  // a static method
    auto s = make_sugar(SugarKind::Function, name);
    s->function = f;
    return s;
  }
  const bool sequence = name == "items" || name == "values" || name == "keys" ||
                        name == "children" || name == "named_children";
  if (sequence && cls->is_module_class())
    return make_sugar(SugarKind::Special, "modules." + name, v);
  if (cls->is_module_class())
    throw ErrorReport(range, "Module '" + cls->name() + "' has no attribute '" + name + "'");
  throw ErrorReport(range, "Tried to access nonexistent attribute or method '" + name +
                               "' of type '" + cls->annotation() +
                               "'. Did you forget to initialize an attribute in __init__()?");
}

bool Emitter::has_attribute(Value* v, const std::string& name) {
  if (v->type()->is(TypeKind::Tuple)) {
    const auto& f = v->type()->fields();
    return std::find(f.begin(), f.end(), name) != f.end();
  }
  const ClassType* cls = as_class(v->type());
  if (!cls) return tensor_property(name) || !operators_named("aten::" + name).empty();
  return cls->find_method(name) || cls->find_attribute(name) || cls->find_constant(name) ||
         std::any_of(cls->properties.begin(), cls->properties.end(),
                     [&](const ClassType::Property& p) { return p.name == name; });
}

SugarPtr Emitter::attribute_of_type(const TypePtr& t, const std::string& name,
                                    const SourceRange& range) {
  if (t->is(TypeKind::Enum)) {
    for (const auto& [member, value] : static_cast<const EnumType&>(*t).members) {
      if (member != name) continue;
      return as_sugar(
          constant(IValue(core::Ref<ivalue::Enum>::adopt(new ivalue::Enum(t->name(), name, value))),
                   range, t));
    }
  }
  if (const ClassType* cls = as_class(t)) {
    if (name == "__new__") return make_sugar(SugarKind::Special, "__new__", nullptr, t);
    Function* f = cls->find_method(name);
    if (!f) f = scope_->unit->find_function(cls->name() + "." + name);
    if (f) {
      auto s = make_sugar(SugarKind::Function, name);
      s->function = f;
      return s;
    }
    if (const IValue* c = cls->find_constant(name)) return as_sugar(constant(*c, range));
  }
  throw ErrorReport(range, "type '" + t->annotation() + "' has no attribute '" + name + "'");
}

}  // namespace tenon::jit::language
