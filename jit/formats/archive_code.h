// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The code of a TorchScript archive: "__torch__.a.b.M" is defined by code/__torch__/a/b.py.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jit/formats/zip.h"
#include "jit/language/emit.h"
#include "jit/language/quantized_text.h"
#include "tenon/jit/unit.h"

namespace tenon::jit::formats {

class ArchiveCode {
 public:
  // Reads all files below `folder` ("archive/code/"). ErrorReport where a text cannot be read.
  ArchiveCode(const ZipReader& zip, const std::string& folder, int64_t operator_version);
  // NotImplementedError for programs that need classes of C++ in torch, those of quantized weights
  // excepted, and with every operator that is used and missing, how often, and the closest names.
  void check_operators() const;
  // Defines what the file of this name defines; nothing if there is no such file. Types and
  // functions that it needs are asked of unit.importer.
  void import(CompilationUnit& unit, std::string_view qualified_name);
  // The rest; then compiles everything.
  void import_all(CompilationUnit& unit);
  void set_constants(std::vector<IValue> constants) { constants_ = std::move(constants); }

 private:
  void define(CompilationUnit& unit, const std::string& prefix);
  void drop_methods(const std::string& prefix);
  struct Module {
    language::File file;
    bool defined = false;
  };
  std::map<std::string, Module, std::less<>> modules_;  // by "__torch__.a.b"
  std::vector<IValue> constants_;
  std::shared_ptr<language::Resolver> resolver_;
};

// Known here, beside those of quantized weights.
inline constexpr std::string_view kRecordFunction =
    "__torch__.torch.classes.profiler._RecordFunction";

// What a file calls and names that is not in it.
struct CodeNeeds {
  std::map<std::string, int64_t> operators;  // "aten::add", with how often
  std::set<std::string> foreign_classes;     // of C++ in torch, below kForeignClasses
};
void add_needs(const language::File& file, CodeNeeds& needs);

}  // namespace tenon::jit::formats
