// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/unit.h"

#include <algorithm>

#include "jit/language/emit.h"
#include "tenon/jit.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {

CompilationUnit::CompilationUnit() = default;
CompilationUnit::~CompilationUnit() = default;

Function* CompilationUnit::find_function(std::string_view name) const {
  auto it = by_name_.find(name);
  if (it == by_name_.end() && importer) {
    importer(name);
    it = by_name_.find(name);
  }
  return it == by_name_.end() ? nullptr : it->second;
}

Function& CompilationUnit::get_function(std::string_view name) const {
  Function* f = find_function(name);
  TENON_CHECK(f, IndexError, "there is no function '", name, "'");
  return *f;
}

Function* CompilationUnit::add_function(std::unique_ptr<Function> f) {
  TENON_CHECK(by_name_.count(f->qualified_name()) == 0, ValueError, "function ",
              f->qualified_name(), " is already defined");
  Function* p = f.get();
  functions_.push_back(std::move(f));
  by_name_.emplace(p->qualified_name(), p);
  return p;
}

std::vector<Function*> CompilationUnit::functions() const {
  std::vector<Function*> out;
  for (const auto& f : functions_) out.push_back(f.get());
  return out;
}

TypePtr CompilationUnit::find_type(std::string_view name) const {
  auto it = types_by_name_.find(name);
  if (it == types_by_name_.end() && importer) {
    importer(name);
    it = types_by_name_.find(name);
  }
  return it == types_by_name_.end() ? nullptr : it->second;
}

ClassTypePtr CompilationUnit::find_class(std::string_view name) const {
  const TypePtr t = find_type(name);
  return t && t->is(TypeKind::Class) ? static_cast<const ClassType&>(*t).self() : nullptr;
}

void CompilationUnit::add_type(TypePtr t) {
  TENON_CHECK(types_by_name_.count(t->name()) == 0, ValueError, "type ", t->name(),
              " is already defined");
  types_by_name_.emplace(t->name(), t);
  types_.push_back(std::move(t));
}

void CompilationUnit::use(std::shared_ptr<CompilationUnit> other) {
  const bool known = std::find(used_.begin(), used_.end(), other) != used_.end();
  if (other && other.get() != this && !known) used_.push_back(std::move(other));
}

void CompilationUnit::define(const std::string& text) {
  auto source = std::make_shared<Source>();
  source->text = text;
  source->file = "<text>";
  language::define_file(*this, "", language::parse_file(source),
                        std::make_shared<language::Resolver>());
  for (std::size_t i = 0; i < functions_.size(); ++i) functions_[i]->ensure_defined();
}

IValue CompilationUnit::run_method(std::string_view name, std::vector<IValue> arguments) {
  return get_function(name)(std::move(arguments));
}

std::shared_ptr<CompilationUnit> compile(const std::string& text) {
  auto unit = std::make_shared<CompilationUnit>();
  unit->define(text);
  return unit;
}

}  // namespace tenon::jit
