// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Classes of C++ whose objects programs make, call, hold and save: libtorch's torch::class_.
//
//   struct Counter : CustomClassHolder {
//     explicit Counter(int64_t n) : n(n) {}
//     int64_t next() { return n++; }
//     int64_t n;
//   };
//   TENON_LIBRARY(mine, m) {
//     m.class_<Counter>("Counter").def(init<int64_t>()).def("next", &Counter::next);
//   }
//   // In programs: c = torch.classes.mine.Counter(3); c.next()
//
// A method is a member function or a function whose first argument is a core::Ref<T>; arguments and
// results are of the types that operators of TENON_LIBRARY take. The errors of def are ValueErrors
// that name the class.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tenon/custom_class_holder.h"
#include "tenon/jit/unit.h"
#include "tenon/library.h"

namespace tenon {

// An argument's name, and its default: arg("x") = 1.
struct arg {
  explicit arg(std::string name) : name_(std::move(name)) {}
  arg& operator=(const IValue& v) {
    value_ = v;
    return *this;
  }
  static IValue none() { return {}; }
  std::string name_;
  std::optional<IValue> value_;
};

namespace jit {

// What class_ is for one T. It is found by its name until `library`, if given, is taken back.
class TENON_API CustomClass {
 public:
  using Holds = bool (*)(const CustomClassHolder*);  // whether it is a T
  CustomClass(std::string ns, std::string name, std::string doc, const std::type_info& of,
              Holds holds, library::Library* library);
  struct Signature {
    std::vector<std::string> arguments;  // types as in schemas, that of self first
    std::string result;                  // empty: none
  };
  // Names and defaults are of all arguments but self, or of none.
  Function* def(const std::string& name, const Signature& signature, HostFunctionBody f,
                std::string doc = {}, const std::vector<arg>& names = {}, bool is_static = false);
  void def_property(const std::string& name, Function* getter, Function* setter);
  const std::string& name() const noexcept { return type_->name(); }
  // ValueError unless __getstate__ gives what __setstate__ takes.
  void check_state(const Signature& get, const Signature& set) const;

 private:
  ClassTypePtr type_;
  std::shared_ptr<CompilationUnit> unit_;
};

// Names of classes of C++ begin with it.
inline constexpr std::string_view kForeignClasses = "__torch__.torch.classes.";
// Null if it is not registered.
TENON_API ClassTypePtr find_custom_class(std::string_view name);
// Such a function of a class: "__torch__.torch.classes.ns.Name.f"; null if there is none.
TENON_API Function* find_custom_function(std::string_view name);

}  // namespace jit

namespace detail {

template <class... A>
struct InitArguments {};
template <class F>
struct InitFunction {
  F f;
};

// Functions of values from functions of C++.
template <class F>
struct HostMethod : HostMethod<decltype(&F::operator())> {};
template <class R, class... A>
struct HostMethod<R(A...)> {
  using Boxing = library::detail::Signature<R(A...)>;
  using Result = std::decay_t<R>;
  template <class T>
  using Type = library::detail::ArgumentType<T>;

  static jit::CustomClass::Signature signature() {
    jit::CustomClass::Signature out{{Type<std::decay_t<A>>::name()...}, {}};
    if constexpr (!std::is_void_v<R>) out.result = Type<Result>::name();
    return out;
  }
  template <class F>
  static IValue call(const F& f, std::vector<IValue>& v) {
    if constexpr (std::is_void_v<R>) {
      Boxing::invoke(f, v);
      return {};
    } else {
      return library::detail::to_ivalue(Boxing::invoke(f, v));
    }
  }
};
template <class R, class... A>
struct HostMethod<R (*)(A...)> : HostMethod<R(A...)> {};
template <class R, class C, class... A>
struct HostMethod<R (C::*)(A...)> : HostMethod<R(A...)> {};
template <class R, class C, class... A>
struct HostMethod<R (C::*)(A...) const> : HostMethod<R(A...)> {};

// A member function as one of a pointer; other functions as they are.
template <class T, class R, class C, class... A>
auto as_function(R (C::*f)(A...)) {
  return [f](const core::Ref<T>& self, A... a) -> R { return ((*self).*f)(std::forward<A>(a)...); };
}
template <class T, class R, class C, class... A>
auto as_function(R (C::*f)(A...) const) {
  return [f](const core::Ref<T>& self, A... a) -> R { return ((*self).*f)(std::forward<A>(a)...); };
}
template <class T, class F, std::enable_if_t<!std::is_member_pointer_v<F>, int> = 0>
auto as_function(F f) {
  return f;
}

}  // namespace detail

template <class... A>
detail::InitArguments<A...> init() {
  return {};
}
template <class F>
detail::InitFunction<std::decay_t<F>> init(F&& f) {
  return {std::forward<F>(f)};
}

template <class T>
class class_ {
  static_assert(std::is_base_of_v<CustomClassHolder, T>,
                "a class for programs must be derived from CustomClassHolder");
  using Self = core::Ref<T>;
  using Arguments = std::initializer_list<arg>;

 public:
  explicit class_(const std::string& ns, const std::string& name, std::string doc = {},
                  library::Library* library = nullptr)
      : class_type_(
            ns, name, std::move(doc), typeid(T),
            [](const CustomClassHolder* h) { return dynamic_cast<const T*>(h) != nullptr; },
            library) {}

  // What makes an object: a constructor's types, or a function.
  template <class... A>
  class_& def(detail::InitArguments<A...>, std::string doc = {}, Arguments names = {}) {
    return define_init([](A... a) { return Self::make(std::forward<A>(a)...); }, "__init__",
                       std::move(doc), names);
  }
  template <class F>
  class_& def(detail::InitFunction<F> init, std::string doc = {}, Arguments names = {}) {
    return define_init(std::move(init.f), "__init__", std::move(doc), names);
  }
  template <class F>
  class_& def(const std::string& name, F f, std::string doc = {}, Arguments names = {}) {
    define(name, detail::as_function<T>(std::move(f)), std::move(doc), names);
    return *this;
  }
  template <class F>
  class_& def_static(const std::string& name, F f, std::string doc = {}) {
    define(name, std::move(f), std::move(doc), {}, true);
    return *this;
  }
  template <class Get, class Set>
  class_& def_property(const std::string& name, Get get, Set set, std::string doc = {}) {
    jit::Function* getter = define(name + "_getter", detail::as_function<T>(std::move(get)), doc);
    class_type_.def_property(name, getter,
                             define(name + "_setter", detail::as_function<T>(std::move(set)), doc));
    return *this;
  }
  template <class Get>
  class_& def_property(const std::string& name, Get get, const char* doc = "") {
    class_type_.def_property(
        name, define(name + "_getter", detail::as_function<T>(std::move(get)), doc), nullptr);
    return *this;
  }
  template <class V>
  class_& def_readwrite(const std::string& name, V T::*field) {
    return def_property(
        name, [field](const Self& self) -> V { return self.get()->*field; },
        [field](const Self& self, V v) { self.get()->*field = std::move(v); });
  }
  template <class V>
  class_& def_readonly(const std::string& name, V T::*field) {
    return def_property(name, [field](const Self& self) -> V { return self.get()->*field; });
  }
  // What is written for an object, and how one is made of it.
  template <class Get, class Set>
  class_& def_pickle(Get get, Set set) {
    class_type_.check_state(detail::HostMethod<Get>::signature(),
                            detail::HostMethod<Set>::signature());
    define("__getstate__", std::move(get));
    return define_init(std::move(set), "__setstate__", {}, {});
  }

 private:
  template <class F>
  jit::Function* define(const std::string& name, F f, std::string doc = {}, Arguments names = {},
                        bool is_static = false) {
    using Host = detail::HostMethod<F>;
    return class_type_.def(
        name, Host::signature(),
        [f = std::move(f)](std::vector<IValue> v) { return Host::call(f, v); }, std::move(doc),
        names, is_static);
  }
  // The object is there already, and gets what `make` gives.
  template <class F>
  class_& define_init(F make, const std::string& name, std::string doc, Arguments names) {
    using Host = detail::HostMethod<F>;
    jit::CustomClass::Signature signature = Host::signature();
    signature.arguments.insert(signature.arguments.begin(), class_type_.name());
    signature.result.clear();
    const auto body = [make = std::move(make)](std::vector<IValue> v) {
      const core::Ref<ivalue::Object> self = v.at(0).toObject();
      v.erase(v.begin());
      self->slots = {IValue::make_capsule(Host::Boxing::invoke(make, v))};
      return IValue();
    };
    class_type_.def(name, signature, body, std::move(doc), names);
    return *this;
  }

  jit::CustomClass class_type_;
};

template <class T>
class_<T> library::Library::class_(const std::string& name, std::string doc) {
  return ::tenon::class_<T>(ns_, name, std::move(doc), this);
}

// An object for a program.
template <class T, class... A>
IValue make_custom_class(A&&... a) {
  return core::Ref<T>::make(std::forward<A>(a)...);
}
inline bool isCustomClass(const IValue& v) { return v.isCustomClass(); }
// "__torch__.torch.classes.ns.Name"; null if it is not registered.
inline jit::ClassTypePtr getCustomClass(const std::string& name) {
  return jit::find_custom_class(name);
}
// Of core::Ref<T>.
template <class Ref>
jit::ClassTypePtr getCustomClassType() {
  return jit::find_custom_class(
      detail::custom_class_type(typeid(decltype(*std::declval<Ref>())))->name());
}

}  // namespace tenon
