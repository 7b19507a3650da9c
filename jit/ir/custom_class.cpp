// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The registered classes of C++: each is a class of one unit of its own, whose methods are host
// functions and whose objects have one slot, a capsule, which is not an attribute.
#include "tenon/jit/custom_class.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <typeindex>

#include "runtime/base/leaf_mutex.h"
#include "tenon/autograd/function.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

struct Registered {
  ClassTypePtr type;
  std::shared_ptr<CompilationUnit> unit;
};
struct OfType {
  ClassTypePtr type;
  CustomClass::Holds holds = nullptr;
  explicit operator bool() const { return type != nullptr; }
};
struct Registry {
  core::LeafMutex mutex;
  std::map<std::string, Registered, std::less<>> by_name;
  std::map<std::type_index, OfType> by_type;
  std::vector<Registered> removed;  // objects and programs may still have them
};
Registry& registry() {
  static Registry* const r = new Registry;
  return *r;
}

ClassTypePtr known(std::string_view name) {
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().by_name.find(name);
  return it == registry().by_name.end() ? nullptr : it->second.type;
}
OfType known(const std::type_info& of) {
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().by_type.find(of);
  return it == registry().by_type.end() ? OfType() : it->second;
}

// A block that nobody has run may have it.
template <class Key>
auto find(const Key& key) {
  if (auto cls = known(key)) return cls;
  library::run_blocks();
  return known(key);
}

std::string text_of(const std::type_info& of) { return autograd::demangle(of.name()); }

OfType get(const std::type_info& of) {
  OfType cls = find(of);
  TENON_CHECK(cls, TypeError, "the class ", text_of(of),
              " is not registered: class_ must be called for it first");
  return cls;
}

void check_name(const std::string& name, const char* what) {
  const bool ok = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                  std::all_of(name.begin(), name.end(),
                              [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  TENON_CHECK(ok, ValueError, "class_: '", name, "' is not a valid ", what);
}

void unregister(const std::string& name, std::type_index of) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it = r.by_name.find(name);
  r.removed.push_back(std::move(it->second));
  r.by_name.erase(it);
  r.by_type.erase(of);
}

}  // namespace

CustomClass::CustomClass(std::string ns, std::string name, std::string doc,
                         const std::type_info& of, Holds holds, library::Library* library) {
  check_name(ns, "namespace");
  check_name(name, "name of a class");
  const std::string full = core::join(kForeignClasses, ns, ".", name);
  type_ = ClassType::make(full, false);
  type_->is_custom_ = true;
  type_->doc_string = std::move(doc);
  unit_ = std::make_shared<CompilationUnit>();
  unit_->add_type(type_);
  {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    const auto other = r.by_type.find(of);
    TENON_CHECK(other == r.by_type.end(), ValueError, "class_: the class ", text_of(of),
                " is registered already, as ", other->second.type->name());
    TENON_CHECK(r.by_name.count(full) == 0, ValueError, "class_: a class ", full,
                " is registered already");
    r.by_name.emplace(full, Registered{type_, unit_});
    r.by_type.emplace(of, OfType{type_, holds});
  }
  if (library) library->when_removed([full, &of] { unregister(full, of); });
}

Function* CustomClass::def(const std::string& name, const Signature& signature, HostFunctionBody f,
                           std::string doc, const std::vector<arg>& names, bool is_static) {
  check_name(name, "name of a method");
  const std::size_t first = is_static ? 0 : 1;
  TENON_CHECK(names.empty() || names.size() + first == signature.arguments.size(), ValueError,
              this->name(), ": ", name,
              ": names and defaults are of all arguments or of none; got ", names.size(), " for ",
              signature.arguments.size() - first);
  FunctionSchema schema;
  schema.name = this->name() + "." + name;
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    Argument a;
    a.name = i < first ? "self" : "_" + std::to_string(i);
    a.type = parse_type(signature.arguments[i], unit_.get());
    if (i >= first && !names.empty()) {
      a.name = names[i - first].name_;
      a.default_value = names[i - first].value_;
    }
    schema.arguments.push_back(std::move(a));
  }
  TENON_CHECK(is_static || (!schema.arguments.empty() && schema.arguments[0].type == type_),
              ValueError, this->name(), ": ", name,
              ": the first argument of a method must be a pointer to an object of the class");
  const TypePtr result =
      signature.result.empty() ? Type::none() : parse_type(signature.result, unit_.get());
  schema.returns.push_back({"", result});
  Function* made = unit_->add_host_function(
      std::move(schema), [f = std::move(f), result](std::vector<IValue> arguments) {
        IValue v = f(std::move(arguments));
        set_element_type(v, result);
        return v;
      });
  made->set_doc_string(std::move(doc));
  if (is_static) {
    type_->add_static_method(made);
  } else {
    type_->add_method(made);
  }
  return made;
}

void CustomClass::def_property(const std::string& name, Function* getter, Function* setter) {
  check_name(name, "name of a property");
  type_->properties.push_back({name, getter, setter});
}

void CustomClass::check_state(const Signature& get, const Signature& set) const {
  TENON_CHECK(get.arguments.size() == 1 && set.arguments.size() == 1 && !get.result.empty() &&
                  get.result == set.arguments[0],
              ValueError, name(), ": def_pickle: __getstate__ gives ",
              get.result.empty() ? "nothing" : get.result, ", and __setstate__ takes ",
              set.arguments.empty() ? "nothing" : set.arguments[0]);
}

ClassTypePtr find_custom_class(std::string_view name) {
  return name.substr(0, kForeignClasses.size()) == kForeignClasses ? find(name) : nullptr;
}

Function* find_custom_function(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return nullptr;
  const ClassTypePtr cls = find_custom_class(name.substr(0, dot));
  if (!cls) return nullptr;
  Function* f = cls->find_static_method(name.substr(dot + 1));
  return f ? f : cls->find_method(name.substr(dot + 1));
}

// By its state, as it is saved.
IValue ClassType::copy_of(const IValue& object) const {
  Function *get = find_method("__getstate__"), *set = find_method("__setstate__");
  TENON_CHECK(get && set, TypeError, "an object of ", name(),
              " cannot be copied: its class has no def_pickle");
  const IValue made(core::Ref<ivalue::Object>::adopt(new ivalue::Object(self(), 1)));
  (void)(*set)({made, (*get)({object}).deepcopy()});
  return made;
}

}  // namespace tenon::jit

namespace tenon {

IValue detail::custom_object(const std::type_info& of, core::Ref<CustomClassHolder> v) {
  auto made = core::Ref<ivalue::Object>::adopt(new ivalue::Object(jit::get(of).type, 1));
  made->slots[0] = IValue::make_capsule(std::move(v));
  return made;
}

CustomClassHolder* detail::custom_holder(const IValue& v, const std::type_info& of) {
  const auto [cls, holds] = jit::get(of);
  const bool fits = v.isObject() && v.toObjectRef().type == cls;
  TENON_CHECK(fits, TypeError, "expected an object of ", cls->name(), ", got ",
              v.isObject() ? v.toObjectRef().name() : v.tagKind());
  const std::vector<IValue>& slots = v.toObjectRef().slots;
  TENON_CHECK(!slots.empty(), TypeError, "an object of ", cls->name(),
              " is used before its __init__");
  // A program may have cast the object and moved the capsule of another to it.
  CustomClassHolder* holder = slots[0].toCapsule().get();
  TENON_CHECK(holds(holder), TypeError, "an object of ", cls->name(), " holds another class's");
  return holder;
}

jit::TypePtr detail::custom_class_type(const std::type_info& of) { return jit::get(of).type; }

std::string library::detail::custom_class_name(const std::type_info& of) {
  return jit::get(of).type->name();
}

}  // namespace tenon
