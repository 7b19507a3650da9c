// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Host operators from functions: arguments come off the stack by their types, results go onto it.
#pragma once

#include <optional>
#include <tuple>
#include <utility>

#include "tenon/jit/operator.h"

namespace tenon::jit {

template <class T>
struct FromStack {
  static T get(const IValue& v) { return v.to<T>(); }
};
template <>
struct FromStack<Generator> {
  static Generator get(const IValue& v) { return v.toGenerator(); }
};
// None, and a tensor that is not defined, are absent.
template <class T>
struct FromStack<std::optional<T>> {
  static std::optional<T> get(const IValue& v) {
    if (v.isNone() || (v.isTensor() && !v.toTensor().defined())) return std::nullopt;
    return FromStack<T>::get(v);
  }
};
// Tensor?[]
template <>
struct FromStack<std::vector<std::optional<Tensor>>> {
  static std::vector<std::optional<Tensor>> get(const IValue& v) {
    std::vector<std::optional<Tensor>> out;
    for (const IValue& each : v.toListRef().items)
      out.push_back(FromStack<std::optional<Tensor>>::get(each));
    return out;
  }
};
template <>
struct FromStack<std::vector<Scalar>> {
  static std::vector<Scalar> get(const IValue& v) {
    std::vector<Scalar> out;
    for (const IValue& each : v.toListRef().items) out.push_back(each.toScalar());
    return out;
  }
};

template <class T>
struct OntoStack {
  static void put(Stack& s, T v) { s.emplace_back(std::move(v)); }
};
template <class... T>
struct OntoStack<std::tuple<T...>> {
  static void put(Stack& s, const std::tuple<T...>& all) {
    std::apply([&](const auto&... each) { (s.emplace_back(each), ...); }, all);
  }
};

// unboxed<f> is a HostFunction that calls f. A tuple that f gives is as many results.
template <class R, class... A, std::size_t... I>
void call_from_stack(R (*f)(A...), Stack& s, std::index_sequence<I...>) {
  constexpr std::size_t n = sizeof...(A);
  std::tuple<std::decay_t<A>...> arguments{FromStack<std::decay_t<A>>::get(peek(s, I, n))...};
  drop(s, n);
  if constexpr (std::is_void_v<R>)
    f(std::get<I>(arguments)...);
  else
    OntoStack<R>::put(s, f(std::get<I>(arguments)...));
}
template <class R, class... A>
void call_from_stack(R (*f)(A...), Stack& s) {
  call_from_stack(f, s, std::index_sequence_for<A...>());
}
template <auto F>
void unboxed(Stack& s) {
  call_from_stack(F, s);
}

}  // namespace tenon::jit
