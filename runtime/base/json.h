// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A value of JSON and its text. The library that reads and writes it is named in json.cpp alone: it
// compiles slowly, and its own values allocate when they are destroyed, so that the process ends if
// memory is short.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/runtime/export.h"

namespace tenon::core {

class TENON_API Json {
 public:
  using Array = std::vector<Json>;
  // In the order of the text; keys are unique.
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  // Move-only: if copying a variant of strings and vectors throws, libstdc++ 12 destroys what was
  // never constructed, because it assumes that such a variant always has a value.
  Json(Json&&) noexcept = default;
  Json& operator=(Json&&) noexcept = default;
  Json(bool v) : v_(v) {}
  Json(int64_t v) : v_(v) {}
  Json(uint64_t v) : v_(v) {}
  Json(double v) : v_(v) {}
  Json(const char* v) : v_(std::string(v)) {}
  Json(std::string_view v) : v_(std::string(v)) {}
  Json(std::string v) : v_(std::move(v)) {}
  Json(Array v) : v_(std::move(v)) {}
  Json(Object v) : v_(std::move(v)) {}
  template <class T>
  static Json list(const T& values) {
    Array out;
    for (const auto& v : values) out.emplace_back(v);
    return out;
  }

  // object("key", value, "key", value, ...).
  template <class... KeysAndValues>
  static Object object(KeysAndValues&&... members) {
    Object out;
    out.reserve(sizeof...(members) / 2);
    append(out, std::forward<KeysAndValues>(members)...);
    return out;
  }

  // The value, or null if it is of another kind. An integer is uint64_t from zero up, int64_t
  // below.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&v_);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&v_);
  }
  // The member of an object; null if there is none, or if this is not an object.
  const Json* find(std::string_view key) const;

  // ValueError's text without its subject: "is not valid JSON: ...", "names 'x' twice", "nests
  // deeper than 4 levels".
  struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  static Json parse(std::string_view text, int max_depth);
  std::string dump() const;  // Error if a string is not UTF-8

 private:
  static void append(Object&) {}
  template <class Value, class... More>
  static void append(Object& to, std::string_view key, Value&& value, More&&... more) {
    to.emplace_back(key, std::forward<Value>(value));
    append(to, std::forward<More>(more)...);
  }
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> v_;
};

}  // namespace tenon::core
