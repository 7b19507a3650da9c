// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From the syntax tree to graphs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/language/tree.h"
#include "tenon/jit/unit.h"

namespace tenon::jit::language {

// What names mean that the text itself does not define.
struct Resolver {
  // Qualified name of a class, named tuple or function that `name` stands for, or "": in archives
  // names are qualified already ("__torch__.M").
  std::function<std::string(const std::string& name)> qualify;
  // CONSTANTS.c0 of an archive; null: there are none.
  const std::vector<IValue>* constants = nullptr;
  // The operator version of the archive; 0: the newest (text of a program).
  int64_t operator_version = 0;
};

// Adds the functions, classes and named tuples of a file to the unit, under `prefix` ("" or
// "__torch__.models"). Bodies are compiled when they are first asked for
// (Function::ensure_defined), signatures at once.
void define_file(CompilationUnit& unit, const std::string& prefix, const File& file,
                 const std::shared_ptr<const Resolver>& resolver);
// Adds one method to a class: Module::define.
Function* define_method(CompilationUnit& unit, const ClassTypePtr& cls, const Def& def,
                        const std::shared_ptr<const Resolver>& resolver);
// The type that an annotation names: Tensor, Optional[int], List[__torch__.M], Tuple[()], int ...
TypePtr type_of_annotation(const Expr& annotation, CompilationUnit& unit, const Resolver& resolver);

}  // namespace tenon::jit::language
