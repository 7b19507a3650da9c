// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Between C++ arguments and results of traced functions and values of programs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/jit/unit.h"
#include "tenon/nn/modules/any.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::detail {

template <class T>
IValue to_value(const T& v) {
  return IValue(v);
}
template <class A, class B>
IValue to_value(const std::pair<A, B>& v) {
  return ivalue::Tuple::create({to_value(v.first), to_value(v.second)});
}
template <class... T>
IValue to_value(const std::tuple<T...>& v) {
  return ivalue::Tuple::create(
      std::apply([](const auto&... part) { return std::vector<IValue>{to_value(part)...}; }, v));
}

// TypeError where the value is of another kind.
template <class T>
struct FromValue {
  static T get(const IValue& v) { return v.to<T>(); }
};
template <class T>
T from_value(const IValue& v) {
  return FromValue<T>::get(v);
}
template <>
struct FromValue<void> {
  static void get(const IValue&) {}
};
template <>
struct FromValue<Tensor> {
  static Tensor get(const IValue& v) { return v.isNone() ? Tensor() : v.toTensor(); }
};
template <class T>
struct FromValue<std::optional<T>> {
  static std::optional<T> get(const IValue& v) {
    if (v.isNone()) return std::nullopt;
    return from_value<T>(v);
  }
};
TENON_API const std::vector<IValue>& tuple_items(const IValue& v, std::size_t n);
template <class... T>
struct FromValue<std::tuple<T...>> {
  template <std::size_t... I>
  static std::tuple<T...> parts(const std::vector<IValue>& items, std::index_sequence<I...>) {
    return std::tuple<T...>(from_value<T>(items[I])...);
  }
  static std::tuple<T...> get(const IValue& v) {
    return parts(tuple_items(v, sizeof...(T)), std::index_sequence_for<T...>());
  }
};
template <class A, class B>
struct FromValue<std::pair<A, B>> {
  static std::pair<A, B> get(const IValue& v) {
    const auto& items = tuple_items(v, 2);
    return {from_value<A>(items[0]), from_value<B>(items[1])};
  }
};

// The type that programs have for T; Any for all but tensors and containers of them.
template <class T>
struct TypeOf {
  static TypePtr get() { return Type::any(); }
};
template <>
struct TypeOf<Tensor> {
  static TypePtr get() { return Type::tensor(); }
};
template <>
struct TypeOf<void> {
  static TypePtr get() { return Type::none(); }
};
template <class T>
struct TypeOf<std::vector<T>> {
  static TypePtr get() { return Type::list(TypeOf<T>::get()); }
};
template <class T>
struct TypeOf<std::optional<T>> {
  static TypePtr get() { return Type::optional(TypeOf<T>::get()); }
};
template <class... T>
struct TypeOf<std::tuple<T...>> {
  static TypePtr get() { return Type::tuple({TypeOf<T>::get()...}); }
};
template <class A, class B>
struct TypeOf<std::pair<A, B>> : TypeOf<std::tuple<A, B>> {};

// What is recorded: a function of values, and the type of what it gives.
struct Traceable {
  HostFunctionBody run;
  TypePtr result;
};

// A function with its arguments taken from values. Those that are left out are nullopt, or
// undefined tensors.
template <class T>
T argument(const std::vector<IValue>& values, std::size_t i) {
  static const IValue none;
  return from_value<T>(i < values.size() ? values[i] : none);
}
TENON_API void check_count(std::size_t given, std::size_t taken);

// What an argument is kept as while the function runs.
template <class T>
struct Held {
  using type = T;
};
template <class T>
struct Held<ArrayRef<T>> {
  using type = std::vector<T>;
};
template <class T>
struct Held<std::optional<ArrayRef<T>>> {
  using type = std::optional<std::vector<T>>;
};
template <class A>
using HeldAs = typename Held<std::decay_t<A>>::type;

template <class R, class... A>
struct Taking {
  using Signature = R(std::decay_t<A>...);
  template <class F, std::size_t... I>
  static IValue call(F& f, const std::vector<IValue>& values, std::index_sequence<I...>) {
    check_count(values.size(), sizeof...(A));
    if constexpr (std::is_void_v<R>) {
      f(argument<HeldAs<A>>(values, I)...);
      return IValue();
    } else {
      return to_value(static_cast<std::decay_t<R>>(f(argument<HeldAs<A>>(values, I)...)));
    }
  }
  template <class F>
  static Traceable body(F f) {
    return {[f = std::move(f)](std::vector<IValue> values) mutable {
              return call(f, values, std::index_sequence_for<A...>());
            },
            TypeOf<R>::get()};
  }
};

template <class F>
struct Callable : Callable<decltype(&F::operator())> {};
template <class R, class... A>
struct Callable<R (*)(A...)> : Taking<std::decay_t<R>, A...> {};
template <class C, class R, class... A>
struct Callable<R (C::*)(A...)> : Taking<std::decay_t<R>, A...> {};
template <class C, class R, class... A>
struct Callable<R (C::*)(A...) const> : Taking<std::decay_t<R>, A...> {};
template <class R, class... A>
struct Callable<std::function<R(A...)>> : Taking<std::decay_t<R>, A...> {};

// forward() of a module class. Arguments that are left out have the defaults that the class tells
// AnyModule.
template <class M, class R, class... A>
struct Forward {
  template <class Argument, class Slot>
  static void take(Slot& slot, const IValue& v, std::vector<nn::AnyValue>& packed) {
    slot.emplace(from_value<typename Slot::value_type>(v));
    packed.push_back(nn::AnyValue(Argument(*slot)));
  }
  template <std::size_t... I>
  static IValue call(M& module, const std::vector<IValue>& values, std::index_sequence<I...>) {
    std::tuple<std::optional<HeldAs<A>>...> held;
    std::vector<nn::AnyValue> packed;
    ((I < values.size() ? take<std::decay_t<A>>(std::get<I>(held), values[I], packed) : void()),
     ...);
    nn::AnyValue result = nn::detail::ForwardCall<M, R, A...>::packed(module, packed);
    return to_value(result.template get<std::decay_t<R>>());
  }
  static Traceable body(const std::shared_ptr<M>& module) {
    return {[module](std::vector<IValue> values) {
              check_count(values.size(), sizeof...(A));
              return call(*module, values, std::index_sequence_for<A...>());
            },
            TypeOf<std::decay_t<R>>::get()};
  }
};
template <class M, class C, class R, class... A>
Traceable bind_forward(const std::shared_ptr<M>& m, R (C::*)(A...)) {
  return Forward<M, R, A...>::body(m);
}
template <class M, class C, class R, class... A>
Traceable bind_forward(const std::shared_ptr<M>& m, R (C::*)(A...) const) {
  return Forward<M, R, A...>::body(m);
}
// forward() of a module; Sequential and its kind take and give one tensor.
template <class M>
auto forward_body(const std::shared_ptr<M>& m, int) -> decltype(&M::forward_packed, Traceable()) {
  return Taking<Tensor, Tensor>::body(
      [m](const Tensor& x) { return m->template forward<Tensor>(x); });
}
template <class M>
Traceable forward_body(const std::shared_ptr<M>& m, long) {
  return bind_forward(m, &M::forward);
}
template <class M>
Traceable forward_body(const std::shared_ptr<M>& m) {
  return forward_body(m, 0);
}

}  // namespace tenon::jit::detail
