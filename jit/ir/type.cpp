// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/type.h"

#include <algorithm>

namespace tenon::jit {

// Shared for the life of the process: lists may hold element types when statics are destroyed.
#define TENON_SIMPLE_TYPE(name, Kind)                                 \
  const TypePtr& Type::name() {                                       \
    static const TypePtr& t = *new TypePtr(new Type(TypeKind::Kind)); \
    return t;                                                         \
  }
TENON_SIMPLE_TYPE(any, Any)
TENON_SIMPLE_TYPE(none, None)
TENON_SIMPLE_TYPE(tensor, Tensor)
TENON_SIMPLE_TYPE(integer, Int)
TENON_SIMPLE_TYPE(floating, Float)
TENON_SIMPLE_TYPE(complex, Complex)
TENON_SIMPLE_TYPE(boolean, Bool)
TENON_SIMPLE_TYPE(number, Number)
TENON_SIMPLE_TYPE(string, String)
TENON_SIMPLE_TYPE(device, Device)
TENON_SIMPLE_TYPE(generator, Generator)
TENON_SIMPLE_TYPE(any_list, AnyList)
TENON_SIMPLE_TYPE(any_tuple, AnyTuple)
TENON_SIMPLE_TYPE(any_enum, AnyEnum)
TENON_SIMPLE_TYPE(function, Function)
#undef TENON_SIMPLE_TYPE

namespace {

bool contains_none(const Type& t) {
  if (t.is(TypeKind::Optional) || t.is(TypeKind::None)) return true;
  return t.is(TypeKind::Union) &&
         std::any_of(t.contained().begin(), t.contained().end(),
                     [](const TypePtr& m) { return m->is(TypeKind::None); });
}

// The order in which members of a Union are kept and printed: that of TorchScript.
int union_order(const Type& t) {
  switch (t.kind()) {
    case TypeKind::Any:
      return 0;
    case TypeKind::Enum:
      return 1;
    case TypeKind::Tensor:
      return 3;
    case TypeKind::Tuple:
      return 5;
    case TypeKind::List:
      return 6;
    case TypeKind::Dict:
      return 7;
    case TypeKind::Number:
      return 8;
    case TypeKind::Float:
      return 9;
    case TypeKind::Complex:
      return 10;
    case TypeKind::Future:
      return 11;
    case TypeKind::Int:
      return 14;
    case TypeKind::None:
      return 15;
    case TypeKind::String:
      return 16;
    case TypeKind::Generator:
      return 17;
    case TypeKind::Bool:
      return 19;
    case TypeKind::Optional:
      return 20;
    case TypeKind::Var:
      return 21;
    case TypeKind::Device:
      return 22;
    case TypeKind::Function:
      return 23;
    case TypeKind::Class:
      return 24;
    default:
      return 30;
  }
}

void flatten(const TypePtr& t, std::vector<TypePtr>& out) {
  if (t->is(TypeKind::Union)) {
    for (const TypePtr& m : t->contained()) flatten(m, out);
  } else if (t->is(TypeKind::Optional)) {
    flatten(t->element(), out);
    out.push_back(Type::none());
  } else {
    out.push_back(t);
  }
}

// Without those that another member includes.
std::vector<TypePtr> distinct(const std::vector<TypePtr>& all) {
  std::vector<TypePtr> out;
  for (const TypePtr& t : all) {
    if (std::any_of(out.begin(), out.end(), [&](const TypePtr& o) { return is_subtype(*t, *o); }))
      continue;
    std::erase_if(out, [&](const TypePtr& o) { return is_subtype(*o, *t); });
    out.push_back(t);
  }
  return out;
}

}  // namespace

TypePtr Type::optional(TypePtr of) {
  switch (of->kind()) {
    case TypeKind::Optional:
    case TypeKind::Any:
    case TypeKind::None:
      return of;
    case TypeKind::Union:
      return union_of({std::move(of), none()});
    default:
      return TypePtr(new Type(TypeKind::Optional, {std::move(of)}));
  }
}
TypePtr Type::list(TypePtr of) { return TypePtr(new Type(TypeKind::List, {std::move(of)})); }
TypePtr Type::dict(TypePtr key, TypePtr value) {
  return TypePtr(new Type(TypeKind::Dict, {std::move(key), std::move(value)}));
}
TypePtr Type::tuple(std::vector<TypePtr> of) {
  return TypePtr(new Type(TypeKind::Tuple, std::move(of)));
}
TypePtr Type::named_tuple(std::string name, std::vector<std::string> fields,
                          std::vector<TypePtr> of, std::vector<std::optional<IValue>> defaults) {
  TENON_CHECK(fields.size() == of.size(), ValueError, "named tuple ", name, ": ", fields.size(),
              " field names for ", of.size(), " types");
  auto* t = new Type(TypeKind::Tuple, std::move(of), std::move(name));
  TypePtr out(t);
  t->fields_ = std::move(fields);
  t->defaults_ = std::move(defaults);
  t->defaults_.resize(t->fields_.size());
  return out;
}
TypePtr Type::union_of(std::vector<TypePtr> members) {
  std::vector<TypePtr> flat;
  for (const TypePtr& m : members) flatten(m, flat);
  flat = distinct(flat);
  TENON_CHECK(!flat.empty(), ValueError, "Union: no members");
  if (flat.size() == 1) return flat[0];
  if (flat.size() == 2 && (flat[0]->is(TypeKind::None) || flat[1]->is(TypeKind::None)))
    return optional(flat[0]->is(TypeKind::None) ? flat[1] : flat[0]);
  std::sort(flat.begin(), flat.end(), [](const TypePtr& a, const TypePtr& b) {
    int x = union_order(*a), y = union_order(*b);
    return x != y ? x < y : a->str() < b->str();
  });
  return TypePtr(new Type(TypeKind::Union, std::move(flat)));
}
TypePtr Type::future(TypePtr of) { return TypePtr(new Type(TypeKind::Future, {std::move(of)})); }
TypePtr Type::var(std::string name) {
  return TypePtr(new Type(TypeKind::Var, {}, std::move(name)));
}

bool same_type(const Type& a, const Type& b) noexcept {
  if (&a == &b) return true;
  if (a.kind() != b.kind() || a.is(TypeKind::Class) || a.is(TypeKind::Interface)) return false;
  if (a.name() != b.name() || a.fields() != b.fields()) return false;
  return std::equal(a.contained().begin(), a.contained().end(), b.contained().begin(),
                    b.contained().end(),
                    [](const TypePtr& x, const TypePtr& y) { return same_type(*x, *y); });
}

bool implements(const Type& cls, const Type& interface) noexcept;  // class_type.cpp

bool is_subtype(const Type& a, const Type& b) noexcept {
  if (b.is(TypeKind::Any) || same_type(a, b)) return true;
  auto each = [](const std::vector<TypePtr>& x, const std::vector<TypePtr>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const TypePtr& s, const TypePtr& t) { return is_subtype(*s, *t); });
  };
  if (a.is(TypeKind::None)) return contains_none(b);
  if (a.is(TypeKind::Union))
    return std::all_of(a.contained().begin(), a.contained().end(),
                       [&](const TypePtr& m) { return is_subtype(*m, b); });
  if (a.is(TypeKind::Optional)) return contains_none(b) && is_subtype(*a.element(), b);
  switch (b.kind()) {
    case TypeKind::Optional:
      return is_subtype(a, *b.element());
    case TypeKind::Union:
      return std::any_of(b.contained().begin(), b.contained().end(),
                         [&](const TypePtr& m) { return is_subtype(a, *m); });
    case TypeKind::Number:
      return a.is(TypeKind::Int) || a.is(TypeKind::Float) || a.is(TypeKind::Complex);
    case TypeKind::AnyList:
      return a.is(TypeKind::List);
    case TypeKind::AnyTuple:
      return a.is(TypeKind::Tuple);
    case TypeKind::AnyEnum:
      return a.is(TypeKind::Enum);
    case TypeKind::Future:
      return a.is(TypeKind::Future) && each(a.contained(), b.contained());
    case TypeKind::Tuple:
      return a.is(TypeKind::Tuple) &&
             (b.fields().empty() || (a.name() == b.name() && a.fields() == b.fields())) &&
             each(a.contained(), b.contained());
    case TypeKind::Interface:
      return implements(a, b);
    default:
      return false;
  }
}

TypePtr unify(const TypePtr& a, const TypePtr& b) {
  if (is_subtype(*a, *b)) return b;
  if (is_subtype(*b, *a)) return a;
  if (a->is(TypeKind::None)) return Type::optional(b);
  if (b->is(TypeKind::None)) return Type::optional(a);
  if (a->is(TypeKind::Optional) || b->is(TypeKind::Optional)) {
    const TypePtr& x = a->is(TypeKind::Optional) ? a->element() : a;
    const TypePtr& y = b->is(TypeKind::Optional) ? b->element() : b;
    TypePtr both = unify(x, y);
    return both ? Type::optional(both) : nullptr;
  }
  if (a->is(TypeKind::Union) && b->is(TypeKind::Union)) return Type::union_of({a, b});
  if (a->kind() != b->kind() || a->contained().size() != b->contained().size()) return nullptr;
  if (!a->is(TypeKind::Tuple) && !a->is(TypeKind::Future)) return nullptr;
  std::vector<TypePtr> parts;
  for (std::size_t i = 0; i < a->contained().size(); ++i) {
    parts.push_back(unify(a->contained()[i], b->contained()[i]));
    if (!parts.back()) return nullptr;
  }
  return a->is(TypeKind::Tuple) ? Type::tuple(std::move(parts)) : Type::future(parts[0]);
}

}  // namespace tenon::jit
