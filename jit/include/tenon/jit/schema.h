// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The signature of an operator or of a function of a program.
#pragma once

#include <optional>
#include <ostream>
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

// A copy of a schema and its arguments, by the names of libtorch.
class ArgumentView {
 public:
  explicit ArgumentView(const Argument& a) : argument_(a) {}
  // A Tensor, unless the type is given. `n`: the length of a list for which one number may stand.
  ArgumentView(std::string name, TypePtr type = nullptr, std::optional<int32_t> n = {},
               std::optional<IValue> default_value = {}, bool kwarg_only = false) {
    argument_.name = std::move(name);
    argument_.type = type ? std::move(type) : Type::tensor();
    argument_.default_value = std::move(default_value);
    argument_.keyword_only = kwarg_only;
    argument_.fixed_length = n.value_or(0);
  }
  const std::string& name() const noexcept { return argument_.name; }
  const TypePtr& type() const noexcept { return argument_.type; }
  const std::optional<IValue>& default_value() const noexcept { return argument_.default_value; }
  bool kwarg_only() const noexcept { return argument_.keyword_only; }
  const Argument& argument() const noexcept { return argument_; }

 private:
  Argument argument_;
};
// What a program says of an operator of its own. Every such operator is taken for one with effects
// of its own (Conservative), so that no call of it is dropped.
enum class AliasAnalysisKind { INTERNAL_SPECIAL_CASE, CONSERVATIVE, FROM_SCHEMA, PURE_FUNCTION };

class SchemaView {
 public:
  SchemaView(std::string name, std::string overload_name, std::vector<ArgumentView> arguments,
             std::vector<ArgumentView> returns, bool is_vararg = false, bool is_varret = false)
      : arguments_(std::move(arguments)), returns_(std::move(returns)) {
    schema_.name = std::move(name);
    schema_.overload = std::move(overload_name);
    for (const ArgumentView& a : arguments_) schema_.arguments.push_back(a.argument());
    for (const ArgumentView& r : returns_) schema_.returns.push_back(r.argument());
    schema_.vararg = is_vararg;
    schema_.varret = is_varret;
  }
  explicit SchemaView(FunctionSchema s)
      : schema_(std::move(s)),
        arguments_(schema_.arguments.begin(), schema_.arguments.end()),
        returns_(schema_.returns.begin(), schema_.returns.end()) {}
  const std::string& name() const noexcept { return schema_.name; }
  const std::string& overload_name() const noexcept { return schema_.overload; }
  const std::vector<ArgumentView>& arguments() const& noexcept { return arguments_; }
  std::vector<ArgumentView> arguments() && { return std::move(arguments_); }
  const std::vector<ArgumentView>& returns() const& noexcept { return returns_; }
  std::vector<ArgumentView> returns() && { return std::move(returns_); }
  bool is_vararg() const noexcept { return schema_.vararg; }
  bool is_varret() const noexcept { return schema_.varret; }
  AliasAnalysisKind aliasAnalysis() const noexcept { return alias_analysis_; }
  void setAliasAnalysis(AliasAnalysisKind kind) noexcept { alias_analysis_ = kind; }
  // As Library::def takes it.
  operator std::string() const { return schema_.str(); }
  friend std::ostream& operator<<(std::ostream& out, const SchemaView& s) {
    return out << s.schema_.str();
  }

 private:
  FunctionSchema schema_;
  std::vector<ArgumentView> arguments_, returns_;
  AliasAnalysisKind alias_analysis_ = AliasAnalysisKind::CONSERVATIVE;
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
