// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Classes and functions as the text that a TorchScript archive has.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/jit/unit.h"

namespace tenon::jit::formats {

class CodeWriter {
 public:
  // The unit that functions were defined in, which names the classes of enums' values.
  explicit CodeWriter(std::shared_ptr<CompilationUnit> unit) : unit_(std::move(unit)) {}

  // The name in the archive, "__torch__.a.M"; what it names will be written. Names of archives
  // begin with __torch__, and two classes never have one name.
  std::string name_of(const TypePtr& named);
  std::string name_of_enum(const std::string& class_name);
  std::string name_of(Function& f);
  std::string annotation(const TypePtr& type);
  // "CONSTANTS.c0"
  std::string constant(const IValue& v);  // a tensor, or an object of a class that readers have

  // Writes all that was named, and what that names.
  void write_all();
  // Texts by the path below code/: "__torch__/a.py". After write_all.
  const std::map<std::string, std::string>& files() const noexcept { return files_; }
  const std::vector<IValue>& constants() const noexcept { return constants_; }

 private:
  struct Named {
    TypePtr type;  // or
    Function* function = nullptr;
    std::string name;
  };
  std::string take_name(std::string wanted);
  std::string write(const Named& n);
  std::string write_class(const ClassType& cls, const std::string& name);
  std::string write_attributes(const ClassType& cls);
  std::string write_named_tuple(const Type& type, const std::string& name);
  std::string write_enum(const EnumType& type, const std::string& name);
  std::string write_interface(const TypePtr& type, const std::string& name);

  std::shared_ptr<CompilationUnit> unit_;
  std::map<const void*, std::string> names_;
  std::set<std::string> taken_;
  std::vector<Named> todo_;
  std::size_t written_ = 0;
  std::map<std::string, std::string> files_;
  std::vector<IValue> constants_;
  std::map<const void*, std::size_t> constant_at_;
};

// "def f(self: __torch__.M, x: Tensor) -> Tensor:" and its body, indented by `depth` steps.
std::string function_text(CodeWriter& writer, const Function& f, int depth);
std::string signature_text(CodeWriter& writer, const FunctionSchema& schema,
                           const std::vector<std::string>& names);
// The value as an expression. NotImplementedError for one that has none (a generator).
std::string literal_text(CodeWriter& writer, const IValue& v, const TypePtr& type);
std::string quoted(std::string_view text);
bool is_identifier(std::string_view name);  // and no word of the language
bool is_free_name(std::string_view name);   // and none that the written code uses itself

}  // namespace tenon::jit::formats
