// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tenon/jit/unit.h"

namespace tenon::jit {

ClassTypePtr ClassType::make(std::string qualified_name, bool is_module) {
  return ClassTypePtr(new ClassType(std::move(qualified_name), is_module));
}

int ClassType::find_slot(std::string_view attribute) const {
  for (std::size_t i = 0; i < attributes_.size(); ++i)
    if (attributes_[i].name == attribute) return static_cast<int>(i);
  return -1;
}

const ClassAttribute* ClassType::find_attribute(std::string_view name) const {
  int slot = find_slot(name);
  return slot < 0 ? nullptr : &attributes_[static_cast<std::size_t>(slot)];
}

int ClassType::add_attribute(std::string name, TypePtr type, ClassAttribute::Kind kind) {
  if (int slot = find_slot(name); slot >= 0) {
    const ClassAttribute& a = attributes_[static_cast<std::size_t>(slot)];
    TENON_CHECK(same_type(*a.type, *type), ValueError, "class ", name_, ": attribute ", name,
                " is ", a.type->str(), ", and cannot be added as ", type->str());
    return slot;
  }
  attributes_.push_back({std::move(name), std::move(type), kind});
  return static_cast<int>(attributes_.size()) - 1;
}

const IValue* ClassType::find_constant(std::string_view name) const {
  for (const auto& [n, v] : constants_)
    if (n == name) return &v;
  return nullptr;
}

void ClassType::add_constant(std::string name, IValue value) {
  TENON_CHECK(!find_constant(name), ValueError, "class ", name_, ": constant ", name,
              " is there already");
  constants_.emplace_back(std::move(name), std::move(value));
}

Function* ClassType::find_method(std::string_view name) const {
  for (Function* f : methods_)
    if (f->name() == name) return f;
  return nullptr;
}

void ClassType::add_method(Function* f) {
  TENON_CHECK(!find_method(f->name()), ValueError, "class ", name_, ": method ", f->name(),
              " is there already");
  methods_.push_back(f);
}

Function* ClassType::find_static_method(std::string_view name) const {
  for (Function* f : static_methods_)
    if (f->name() == name) return f;
  return nullptr;
}

void ClassType::add_static_method(Function* f) {
  TENON_CHECK(!find_static_method(f->name()), ValueError, "class ", name_, ": method ", f->name(),
              " is there already");
  static_methods_.push_back(f);
}

std::shared_ptr<InterfaceType> InterfaceType::make(std::string qualified_name, bool is_module) {
  return std::shared_ptr<InterfaceType>(new InterfaceType(std::move(qualified_name), is_module));
}

std::shared_ptr<EnumType> EnumType::make(std::string qualified_name, TypePtr value_type,
                                         std::vector<std::pair<std::string, IValue>> members) {
  std::shared_ptr<EnumType> t(new EnumType(std::move(qualified_name), std::move(value_type)));
  t->members = std::move(members);
  return t;
}

namespace {

// Whether a call that `wanted` allows is one that `given` takes. The first argument is self.
bool accepts(const FunctionSchema& given, const FunctionSchema& wanted) {
  if (given.arguments.size() != wanted.arguments.size()) return false;
  for (std::size_t i = 1; i < wanted.arguments.size(); ++i) {
    const Argument &g = given.arguments[i], &w = wanted.arguments[i];
    if (g.name != w.name || g.keyword_only != w.keyword_only) return false;
    if (!is_subtype(*w.type, *g.type)) return false;
    if (w.default_value && !g.default_value) return false;
  }
  if (given.returns.size() != wanted.returns.size()) return false;
  for (std::size_t i = 0; i < wanted.returns.size(); ++i)
    if (!is_subtype(*given.returns[i].type, *wanted.returns[i].type)) return false;
  return true;
}

const FunctionSchema* method_schema(const Type& t, const std::string& name) {
  if (t.is(TypeKind::Class)) {
    Function* f = static_cast<const ClassType&>(t).find_method(name);
    return f ? &f->schema() : nullptr;
  }
  for (const FunctionSchema& s : static_cast<const InterfaceType&>(t).methods)
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace

// A method that does not compile is not one that the interface asks for.
bool implements(const Type& cls, const Type& interface) noexcept {
  if (!cls.is(TypeKind::Class) && !cls.is(TypeKind::Interface)) return false;
  const auto& wanted = static_cast<const InterfaceType&>(interface);
  try {
    return std::all_of(wanted.methods.begin(), wanted.methods.end(), [&](const FunctionSchema& m) {
      const FunctionSchema* given = method_schema(cls, m.name);
      return given && accepts(*given, m);
    });
  } catch (...) {
    return false;
  }
}

}  // namespace tenon::jit
