// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Hashes of values and of structures: a class with `static size_t hash(const T&)` is hashed by it.
#pragma once

#include <c10/util/complex.h>
#include <torch/namespaces.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/runtime/array_ref.h"

namespace c10 {

inline std::size_t hash_combine(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b9 + (seed << 6u) + (seed >> 2u));
}

template <class T>
struct hash;

namespace detail {

template <class T, class = void>
struct HashesItself : std::false_type {};
template <class T>
struct HashesItself<T, std::void_t<decltype(T::hash(std::declval<const T&>()))>> : std::true_type {
};

template <class T>
std::size_t simple_get_hash(const T& v) {
  if constexpr (HashesItself<T>::value)
    return T::hash(v);
  else if constexpr (std::is_enum_v<T>)
    return std::hash<std::underlying_type_t<T>>()(static_cast<std::underlying_type_t<T>>(v));
  else
    return std::hash<T>()(v);
}

template <class List>
std::size_t hash_of_list(const List& list) {
  std::size_t seed = 0;
  for (const auto& item : list) {
    using Item = std::decay_t<decltype(item)>;
    seed = hash_combine(seed, hash<Item>()(static_cast<const Item&>(item)));
  }
  return seed;
}

}  // namespace detail

template <class T>
struct hash {
  std::size_t operator()(const T& v) const { return detail::simple_get_hash(v); }
};
template <class T>
struct hash<std::optional<T>> {
  std::size_t operator()(const std::optional<T>& v) const { return v ? hash<T>()(*v) : 0; }
};
template <class... T>
struct hash<std::tuple<T...>> {
  std::size_t operator()(const std::tuple<T...>& v) const {
    std::size_t seed = 0;
    std::apply([&](const T&... part) { ((seed = hash_combine(seed, hash<T>()(part))), ...); }, v);
    return seed;
  }
};
template <class A, class B>
struct hash<std::pair<A, B>> {
  std::size_t operator()(const std::pair<A, B>& v) const {
    return hash_combine(hash<A>()(v.first), hash<B>()(v.second));
  }
};
template <class T>
struct hash<std::vector<T>> {
  std::size_t operator()(const std::vector<T>& v) const { return detail::hash_of_list(v); }
};
template <class T>
struct hash<::tenon::ArrayRef<T>> {
  std::size_t operator()(const ::tenon::ArrayRef<T>& v) const { return detail::hash_of_list(v); }
};
template <class T>
struct hash<::tenon::core::complex<T>> {
  std::size_t operator()(const ::tenon::core::complex<T>& z) const {
    return hash<std::pair<T, T>>()({z.real(), z.imag()});
  }
};

// Of several values.
template <class... T>
std::size_t get_hash(const T&... values) {
  return hash<std::tuple<T...>>()(std::tuple<T...>(values...));
}

}  // namespace c10
