// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The signature of an operator or of a function of a program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/jit/type.h"

namespace tenon::jit {

// What `(a!)` says: the argument or result may share memory with those of the same letter.
struct AliasInfo {
  std::string set;  // "a", "a|b", "*" (any); empty: it shares nothing
  bool write = false;
  std::string after{};     // "*" of (a -> *): the sets once the operator has run; empty: `set`
  std::string elements{};  // of a list: what its elements share, "a" of Tensor(a!)[]
  bool write_elements = false;
};

struct Argument {
  std::string name;
  TypePtr type;
  std::optional<IValue> default_value;
  bool keyword_only = false;
  int fixed_length = 0;  // int[2]: 2; one number stands for all
  AliasInfo alias;
};

struct TENON_API FunctionSchema {
  std::string name;      // "aten::add", "__torch__.M.forward"
  std::string overload;  // "Tensor"; may be empty
  std::vector<Argument> arguments, returns;
  bool vararg = false, varret = false;  // further ones of any type, as in prim::Print(...)

  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
  int find_argument(std::string_view argument) const;  // -1 if there is none
  // "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  std::string str() const;
};

// What classes must have to be used where the interface is asked for.
class TENON_API InterfaceType final : public Type {
 public:
  static std::shared_ptr<InterfaceType> make(std::string qualified_name, bool is_module);
  std::vector<FunctionSchema> methods;
  bool is_module;

 private:
  InterfaceType(std::string qualified_name, bool module)
      : Type(TypeKind::Interface, {}, std::move(qualified_name)), is_module(module) {}
};

// ValueError says what was expected and where.
TENON_API FunctionSchema parse_schema(std::string_view text);

}  // namespace tenon::jit
