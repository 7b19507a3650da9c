// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Types and values.
#include <algorithm>

#include "tenon/jit/type.h"

namespace tenon::jit {
namespace {

// Gives lists that IValue's constructors make the types of this library.
const ivalue::ElementTypes* give_element_types() {
  static const auto* types =
      new ivalue::ElementTypes{Type::integer(), Type::floating(), Type::boolean(),
                               Type::tensor(),  Type::string(),   Type::complex()};
  ivalue::set_element_types(types);
  return types;
}
[[maybe_unused]] const ivalue::ElementTypes* const g_given = give_element_types();

bool all_instances(const std::vector<IValue>& items, const Type& t) {
  return std::all_of(items.begin(), items.end(),
                     [&](const IValue& v) { return is_instance(v, t); });
}

bool is_list_of(const ivalue::List& list, const Type& element) {
  if (element.is(TypeKind::Any)) return !list.element || list.element->is(TypeKind::Any);
  return list.element ? same_type(*list.element, element) : all_instances(list.items, element);
}

bool is_dict_of(const ivalue::Dict& dict, const Type& key, const Type& value) {
  auto agrees = [&](const TypePtr& declared, const Type& wanted, auto part) {
    if (declared) return same_type(*declared, wanted);
    return std::all_of(dict.items().begin(), dict.items().end(),
                       [&](const auto& item) { return is_instance(item.*part, wanted); });
  };
  using Item = std::pair<IValue, IValue>;
  return agrees(dict.key, key, &Item::first) && agrees(dict.value, value, &Item::second);
}

bool is_tuple_of(const ivalue::Tuple& tuple, const Type& t) {
  if (tuple.size() != t.contained().size()) return false;
  if (!t.fields().empty() && (!tuple.type || tuple.type->name() != t.name())) return false;
  for (std::size_t i = 0; i < tuple.size(); ++i)
    if (!is_instance(tuple.items[i], *t.contained()[i])) return false;
  return true;
}

TypePtr class_of(const ivalue::Object& o) {
  return std::dynamic_pointer_cast<const ClassType>(o.type);
}

// Of the values of a list or dictionary whose type is not declared.
TypePtr common_type(const TypePtr& declared, std::size_t n, auto value_at) {
  if (declared) return declared;
  TypePtr all;
  for (std::size_t i = 0; i < n; ++i) {
    TypePtr t = type_of(value_at(i));
    all = all ? unify(all, t) : t;
    if (!all) break;
  }
  return all ? all : Type::any();
}

TypePtr type_of_tuple(const ivalue::Tuple& tuple) {
  if (tuple.type) return tuple.type;
  std::vector<TypePtr> parts;
  for (const IValue& v : tuple.items) parts.push_back(type_of(v));
  return Type::tuple(std::move(parts));
}

TypePtr type_of_dict(const ivalue::Dict& d) {
  const auto& items = d.items();
  return Type::dict(
      common_type(
          d.key, items.size(), [&](std::size_t i) -> auto& { return items[i].first; }),
      common_type(
          d.value, items.size(), [&](std::size_t i) -> auto& { return items[i].second; }));
}

}  // namespace

bool is_instance(const IValue& v, const Type& t) {
  switch (t.kind()) {
    case TypeKind::Any:
      return true;
    case TypeKind::None:
      return v.isNone();
    case TypeKind::Tensor:
      return v.isTensor();
    case TypeKind::Int:
      return v.isInt();
    case TypeKind::Float:
      return v.isDouble();
    case TypeKind::Bool:
      return v.isBool();
    case TypeKind::Number:
      return v.isInt() || v.isDouble() || v.isComplexDouble();
    case TypeKind::Complex:
      return v.isComplexDouble();
    case TypeKind::String:
      return v.isString();
    case TypeKind::Device:
      return v.isDevice();
    case TypeKind::Generator:
      return v.isGenerator();
    case TypeKind::Optional:
      return v.isNone() || is_instance(v, *t.element());
    case TypeKind::Union:
      return std::any_of(t.contained().begin(), t.contained().end(),
                         [&](const TypePtr& m) { return is_instance(v, *m); });
    case TypeKind::List:
      return v.isList() && is_list_of(v.toListRef(), *t.element());
    case TypeKind::Dict:
      return v.isGenericDict() && is_dict_of(v.toDictRef(), *t.contained()[0], *t.contained()[1]);
    case TypeKind::Tuple:
      return v.isTuple() && is_tuple_of(v.toTupleRef(), t);
    case TypeKind::Future: {
      if (!v.isFuture()) return false;
      const TypePtr& element = v.toFutureRef().element;
      return !element || is_subtype(*element, *t.element());
    }
    case TypeKind::AnyList:
      return v.isList();
    case TypeKind::AnyTuple:
      return v.isTuple();
    case TypeKind::Class:
    case TypeKind::Interface: {
      if (!v.isObject()) return false;
      TypePtr cls = class_of(v.toObjectRef());
      return cls && is_subtype(*cls, t);
    }
    case TypeKind::AnyEnum:
      return v.isEnum();
    case TypeKind::Enum:
      return v.isEnum() && v.toEnumRef().class_name == t.name();
    case TypeKind::Function:
    case TypeKind::Var:
      return false;
  }
  return false;
}

TypePtr type_of(const IValue& v) {
  switch (v.tag()) {
    case IValue::Tag::None:
      return Type::none();
    case IValue::Tag::Tensor:
      return Type::tensor();
    case IValue::Tag::Double:
      return Type::floating();
    case IValue::Tag::Int:
      return Type::integer();
    case IValue::Tag::Bool:
      return Type::boolean();
    case IValue::Tag::String:
      return Type::string();
    case IValue::Tag::Device:
      return Type::device();
    case IValue::Tag::Generator:
      return Type::generator();
    case IValue::Tag::List: {
      const ivalue::List& l = v.toListRef();
      return Type::list(common_type(
          l.element, l.items.size(), [&](std::size_t i) -> auto& { return l.items[i]; }));
    }
    case IValue::Tag::Dict:
      return type_of_dict(v.toDictRef());
    case IValue::Tag::Tuple:
      return type_of_tuple(v.toTupleRef());
    case IValue::Tag::Object: {
      TypePtr t = class_of(v.toObjectRef());
      return t ? t : Type::any();
    }
    case IValue::Tag::Future: {
      const TypePtr& e = v.toFutureRef().element;
      return Type::future(e ? e : Type::any());
    }
    case IValue::Tag::Enum: {
      const ivalue::Enum& e = v.toEnumRef();
      return EnumType::make(e.class_name, type_of(e.value), {});
    }
    case IValue::Tag::ComplexDouble:
      return Type::complex();
    case IValue::Tag::Capsule:
      return Type::any();
  }
  return Type::any();
}

namespace {

void set_elements(ivalue::Dict& d, const Type& t) {
  d.key = t.contained()[0];
  d.value = t.contained()[1];
  for (const auto& [k, v] : d.items()) {
    set_element_type(k, d.key);
    set_element_type(v, d.value);
  }
}

void set_elements(ivalue::Tuple& tuple, const TypePtr& t) {
  if (tuple.size() != t->contained().size()) return;
  if (!t->fields().empty()) tuple.type = t;
  for (std::size_t i = 0; i < tuple.size(); ++i)
    set_element_type(tuple.items[i], t->contained()[i]);
}

}  // namespace

void set_element_type(const IValue& v, const TypePtr& t) {
  if (t->is(TypeKind::Optional)) {
    if (!v.isNone()) set_element_type(v, t->element());
  } else if (t->is(TypeKind::Union)) {
    for (const TypePtr& m : t->contained())
      if (is_instance(v, *m)) return set_element_type(v, m);
  } else if (v.isList() && t->is(TypeKind::List)) {
    ivalue::List& l = v.toListRef();
    l.element = t->element();
    for (const IValue& item : l.items) set_element_type(item, l.element);
  } else if (v.isGenericDict() && t->is(TypeKind::Dict)) {
    set_elements(v.toDictRef(), *t);
  } else if (v.isTuple() && t->is(TypeKind::Tuple)) {
    set_elements(v.toTupleRef(), t);
  } else if (v.isFuture() && t->is(TypeKind::Future)) {
    v.toFutureRef().element = t->element();
  }
}

}  // namespace tenon::jit

tenon::jit::TypePtr tenon::IValue::type() const { return jit::type_of(*this); }
