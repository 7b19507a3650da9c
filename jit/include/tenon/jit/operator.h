// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The operators that nodes name: those of Tenon under aten::, by their schemas, and a table of host
// operators (numbers, strings, lists, dictionaries, prim::).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/jit/schema.h"

namespace tenon::core {
struct Op;
}

namespace tenon::jit {

// Arguments are the last elements, in schema order; an operator takes them off and puts its results
// there.
using Stack = std::vector<IValue>;
using HostFunction = void (*)(Stack& stack);
// For operators with vararg: how many arguments there are.
using VarargFunction = void (*)(Stack& stack, std::size_t n);

struct TENON_API Operator {
  FunctionSchema schema;
  HostFunction host = nullptr;
  VarargFunction host_vararg = nullptr;
  std::function<void(Stack&)> registered;  // a host function of a unit; see add_host_function
  // An operator of Tenon: `form` says whether it is called as add, add_ or with out=.
  const core::Op* op = nullptr;
  enum class Form : uint8_t { Functional, Inplace, Out } form = Form::Functional;
  bool has_side_effects = false;  // prints, raises, draws random numbers, writes an argument
  bool is_random = false;         // draws random numbers
  void call(Stack& stack, std::size_t n_args) const;
};

// All overloads of "aten::add", in order of declaration; empty if there is none. Operators that
// plugins registered ("vendor::name") are found, too.
TENON_API std::vector<const Operator*> operators_named(std::string_view name);
// By full name, "aten::add.Tensor"; null if there is none.
TENON_API const Operator* find_operator(std::string_view full_name);
// The closest known names, for messages.
TENON_API std::vector<std::string> similar_operators(std::string_view name, std::size_t n = 3);

// Adds host operators; the text is a schema. Runs while libtenon_jit loads or before the first use.
struct HostOperator {
  const char* schema;
  HostFunction function;
  VarargFunction vararg = nullptr;
  bool has_side_effects = false;
};
struct HostOperators {
  HostOperators(const HostOperator* list, std::size_t n);
};

// Stack helpers.
inline IValue pop(Stack& s) {
  IValue v = std::move(s.back());
  s.pop_back();
  return v;
}
template <class T>
T pop_as(Stack& s) {
  T v = s.back().to<T>();
  s.pop_back();
  return v;
}
inline const IValue& peek(const Stack& s, std::size_t i, std::size_t n) {
  return s[s.size() - n + i];
}
inline IValue& peek(Stack& s, std::size_t i, std::size_t n) { return s[s.size() - n + i]; }
inline void drop(Stack& s, std::size_t n) { s.resize(s.size() - n); }

}  // namespace tenon::jit
