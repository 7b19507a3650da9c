// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions of C++ as functions of IValues, and the schema types of their arguments.
#pragma once

#include <array>
#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/function_ref.h"
#include "tenon/ivalue.h"
#include "tenon/tensor.h"

namespace tenon::library::detail {

using Values = std::vector<IValue>;
using BoxedFunction = SharedFunction<Values(Values& arguments)>;

// Of Tenon::jit: "__torch__.torch.classes.ns.Name". TypeError if class_ did not register it.
TENON_API std::string custom_class_name(const std::type_info& of);

// How a type of C++ is written in a schema, and how an IValue becomes one. `Held` is what lives
// during the call, of which the argument is a view.
template <class T>
struct ArgumentType;

// Of types that IValue::to knows.
template <class T>
struct Converted {
  using Held = T;
  static Held unbox(const IValue& v) { return v.to<T>(); }
};

// Containers: their elements are of any of these types.
template <class T>
struct ArgumentType<std::vector<T>> : Converted<std::vector<T>> {
  static std::string name() { return ArgumentType<T>::name() + "[]"; }
};
template <class T>
struct ArgumentType<List<T>> : Converted<List<T>> {
  static std::string name() { return ArgumentType<T>::name() + "[]"; }
};
template <class T, std::size_t N>
struct ArgumentType<std::array<T, N>> : Converted<std::array<T, N>> {
  static std::string name() { return ArgumentType<T>::name() + "[]"; }
};
template <class K, class V>
struct ArgumentType<Dict<K, V>> : Converted<Dict<K, V>> {
  static std::string name() {
    return "Dict(" + ArgumentType<K>::name() + ", " + ArgumentType<V>::name() + ")";
  }
};
template <class K, class V>
struct ArgumentType<std::unordered_map<K, V>> : Converted<std::unordered_map<K, V>> {
  static std::string name() { return ArgumentType<Dict<K, V>>::name(); }
};
// Objects of classes of C++.
template <class T>
struct ArgumentType<core::Ref<T>> : Converted<core::Ref<T>> {
  static std::string name() { return custom_class_name(typeid(T)); }
};
template <class... T>
struct ArgumentType<std::tuple<T...>> : Converted<std::tuple<T...>> {
  static std::string name() {
    std::string out;
    ((out += (out.empty() ? "(" : ", ") + ArgumentType<T>::name()), ...);
    return out + ")";
  }
};

// The other way. Lists that IValue knows say their type; others do not.
template <class T>
IValue to_ivalue(const T& v) {
  if constexpr (std::is_same_v<T, std::string_view>)
    return IValue(std::string(v));
  else
    return IValue(v);
}
template <class... T>
IValue to_ivalue(const std::tuple<T...>& v);
template <class K, class V>
IValue to_ivalue(const std::unordered_map<K, V>& v) {
  Dict<K, V> out;
  for (const auto& [key, value] : v) out.insert(key, value);
  return out;
}
template <class T, std::size_t N>
IValue to_ivalue(const std::array<T, N>& v);
template <class T>
IValue to_ivalue(const std::vector<T>& v) {
  if constexpr (std::is_constructible_v<IValue, const std::vector<T>&>) {
    return IValue(v);
  } else {
    std::vector<IValue> items;
    for (const T& item : v) items.push_back(to_ivalue(item));
    return IValue(items);
  }
}
template <class... T>
IValue to_ivalue(const std::tuple<T...>& v) {
  return std::apply(
      [](const T&... part) { return IValue(ivalue::Tuple::create({to_ivalue(part)...})); }, v);
}

template <class T, std::size_t N>
IValue to_ivalue(const std::array<T, N>& v) {
  return to_ivalue(std::vector<T>(v.begin(), v.end()));
}

#define TENON_ARGUMENT_TYPE(type, text)         \
  template <>                                   \
  struct ArgumentType<type> : Converted<type> { \
    static std::string name() { return text; }  \
  }
TENON_ARGUMENT_TYPE(IValue, "Any");
TENON_ARGUMENT_TYPE(Tensor, "Tensor");
TENON_ARGUMENT_TYPE(int64_t, "int");
TENON_ARGUMENT_TYPE(double, "float");
TENON_ARGUMENT_TYPE(bool, "bool");
TENON_ARGUMENT_TYPE(std::string, "str");
TENON_ARGUMENT_TYPE(Scalar, "Scalar");
TENON_ARGUMENT_TYPE(Device, "Device");
TENON_ARGUMENT_TYPE(ScalarType, "ScalarType");
TENON_ARGUMENT_TYPE(Layout, "Layout");
TENON_ARGUMENT_TYPE(MemoryFormat, "MemoryFormat");
TENON_ARGUMENT_TYPE(std::complex<double>, "complex");
TENON_ARGUMENT_TYPE(std::vector<int64_t>, "int[]");
TENON_ARGUMENT_TYPE(std::vector<double>, "float[]");
TENON_ARGUMENT_TYPE(std::vector<bool>, "bool[]");
TENON_ARGUMENT_TYPE(std::vector<Tensor>, "Tensor[]");
TENON_ARGUMENT_TYPE(Generator, "Generator");
#undef TENON_ARGUMENT_TYPE

template <>
struct ArgumentType<SymInt> : ArgumentType<int64_t> {};
template <>
struct ArgumentType<std::vector<SymInt>> : ArgumentType<std::vector<int64_t>> {
  using Held = std::vector<SymInt>;
  static Held unbox(const IValue& v) {
    return fromIntArrayRefSlow(v.to<std::vector<int64_t>>()).vec();
  }
};
template <>
struct ArgumentType<std::string_view> : ArgumentType<std::string> {};
template <class T>
struct ArgumentType<ArrayRef<T>> : ArgumentType<std::vector<T>> {};
template <class T>
struct ArgumentType<std::optional<T>> {
  using Held = std::optional<typename ArgumentType<T>::Held>;
  static std::string name() { return ArgumentType<T>::name() + "?"; }
  static Held unbox(const IValue& v) {
    if (v.isNone()) return std::nullopt;
    return ArgumentType<T>::unbox(v);
  }
};

template <class R>
struct ResultTypes {
  static std::string names() { return ArgumentType<R>::name(); }
  static Values box(const R& r) { return {to_ivalue(r)}; }
  static R unbox(Values&& v) { return ArgumentType<R>::unbox(v.at(0)); }
};
template <>
struct ResultTypes<void> {
  static std::string names() { return "()"; }
};
template <class... T>
struct ResultTypes<std::tuple<T...>> {
  static std::string names() { return ArgumentType<std::tuple<T...>>::name(); }
  static Values box(const std::tuple<T...>& r) {
    return std::apply([](const T&... part) { return Values{to_ivalue(part)...}; }, r);
  }
  template <std::size_t... I>
  static std::tuple<T...> unbox(Values&& v, std::index_sequence<I...>) {
    return {ArgumentType<T>::unbox(v.at(I))...};
  }
  static std::tuple<T...> unbox(Values&& v) {
    return unbox(std::move(v), std::index_sequence_for<T...>());
  }
};

// Of functions, pointers to them and lambdas.
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R(A...)> {
  using Result = std::decay_t<R>;  // Tensor& of an operator in place is the tensor
  // "Tensor, int -> Tensor"; arguments are named x0, x1 in schemas that nobody wrote.
  static std::string text(bool names) {
    std::string out;
    int i = 0;
    ((out += (out.empty() ? "" : ", ") + ArgumentType<std::decay_t<A>>::name() +
             (names ? " x" + std::to_string(i++) : "")),
     ...);
    return (names ? "(" + out + ")" : out) + " -> " + ResultTypes<Result>::names();
  }
  static constexpr std::size_t arity = sizeof...(A);

  template <class F, std::size_t... I>
  static Result invoke(const F& f, Values& v, std::index_sequence<I...>) {
    std::tuple<typename ArgumentType<std::decay_t<A>>::Held...> held(
        ArgumentType<std::decay_t<A>>::unbox(v.at(I))...);
    (void)held;
    return static_cast<Result>(f(view<A>(std::get<I>(held))...));
  }
  template <class F>
  static Result invoke(const F& f, Values& v) {
    return invoke(f, v, std::index_sequence_for<A...>());
  }
  template <class F>
  static BoxedFunction box(F f) {
    return [f = std::move(f)](Values& v) -> Values {
      if constexpr (std::is_void_v<R>) {
        invoke(f, v);
        return {};
      } else {
        return ResultTypes<Result>::box(invoke(f, v));
      }
    };
  }

  // What the parameter A binds to: the held value itself, or a view of it.
  template <class Arg, class Held>
  static decltype(auto) view(Held& held) {
    if constexpr (std::is_same_v<std::decay_t<Arg>, Held>) {
      if constexpr (std::is_lvalue_reference_v<Arg>) {
        return static_cast<Arg>(held);
      } else {
        return std::move(held);
      }
    } else if constexpr (std::is_constructible_v<std::decay_t<Arg>, Held&>) {
      return std::decay_t<Arg>(held);
    } else {
      return held ? std::decay_t<Arg>(typename std::decay_t<Arg>::value_type(*held))
                  : std::decay_t<Arg>();
    }
  }
};
template <class R, class... A>
struct Signature<R (*)(A...)> : Signature<R(A...)> {};
template <class R, class... A>
struct Signature<R (&)(A...)> : Signature<R(A...)> {};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R(A...)> {};

}  // namespace tenon::library::detail
