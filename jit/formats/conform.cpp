// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/conform.h"

#include <algorithm>

namespace tenon::jit::formats {
namespace {

bool fits(const IValue& v, const TypePtr& t, bool set);

// An element of a list or dictionary. torch takes nested lists of one class of C++ for those of
// another and writes archives so; a method that gets such an object refuses it.
bool element_fits(const IValue& v, const TypePtr& t, bool set) {
  if (fits(v, t, set)) return true;
  const auto* cls = dynamic_cast<const ClassType*>(t.get());
  return cls && cls->is_custom_class() && v.isObject() && v.toObjectRef().type->is_custom_class();
}

bool list_fits(const IValue& v, const TypePtr& element, bool set) {
  if (!v.isList()) return false;
  ivalue::List& list = v.toListRef();
  if (list.element && same_type(*list.element, *element)) return true;
  const bool ok = std::all_of(list.items.begin(), list.items.end(),
                              [&](const IValue& item) { return element_fits(item, element, set); });
  if (ok && set) list.element = element;
  return ok;
}

bool dict_fits(const IValue& v, const TypePtr& key, const TypePtr& value, bool set) {
  if (!v.isGenericDict()) return false;
  ivalue::Dict& dict = v.toDictRef();
  if (dict.key && dict.value && same_type(*dict.key, *key) && same_type(*dict.value, *value))
    return true;
  const bool ok = std::all_of(dict.items().begin(), dict.items().end(), [&](const auto& item) {
    return fits(item.first, key, set) && element_fits(item.second, value, set);
  });
  if (ok && set) {
    dict.key = key;
    dict.value = value;
  }
  return ok;
}

bool tuple_fits(const IValue& v, const TypePtr& t, bool set) {
  if (!v.isTuple()) return false;
  ivalue::Tuple& tuple = v.toTupleRef();
  const bool named = !t->fields().empty();
  if (tuple.size() != t->contained().size()) return false;
  if (tuple.type && (!named || tuple.type->name() != t->name())) return false;
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    if (!fits(tuple.items[i], t->contained()[i], set)) return false;
  }
  if (named && set) tuple.type = t;
  return true;
}

bool fits(const IValue& v, const TypePtr& t, bool set) {
  switch (t->kind()) {
    case TypeKind::Optional:
      return v.isNone() || fits(v, t->element(), set);
    case TypeKind::Union:
      for (const TypePtr& member : t->contained()) {
        if (fits(v, member, false)) return !set || fits(v, member, true);
      }
      return false;
    case TypeKind::List:
      return list_fits(v, t->element(), set);
    case TypeKind::Dict:
      return dict_fits(v, t->contained()[0], t->contained()[1], set);
    case TypeKind::Tuple:
      return tuple_fits(v, t, set);
    default:
      return is_instance(v, *t);
  }
}

}  // namespace

bool conform(const IValue& v, const TypePtr& t) { return fits(v, t, true); }

}  // namespace tenon::jit::formats
