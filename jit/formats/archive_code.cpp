// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/archive_code.h"

#include <algorithm>

#include "jit/formats/wrapped_numbers.h"
#include "jit/language/composed.h"
#include "tenon/jit/custom_class.h"
#include "tenon/jit/operator.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {
constexpr uint64_t kMaxCode = uint64_t{64} << 20;  // bytes of all files
constexpr std::string_view kEnding = ".py";

// Before torch 1.6 quantized weights were declared as tensors.
void declare_packed_weights(const std::string& prefix, language::File& file) {
  if (prefix.find(".quantized.") == prefix.npos) return;
  for (const auto& c : file.classes) {
    const bool conv = c->name.find("Conv") != c->name.npos;
    const std::string packed = !conv                                ? "Linear"
                               : c->name.find("3d") != c->name.npos ? "Conv3d"
                                                                    : "Conv2d";
    auto source = std::make_shared<Source>();
    source->text = core::join(kForeignClasses, "quantized.", packed, "PackedParamsBase");
    for (const language::StmtPtr& s : c->body) {
      const bool declares = s->annotation && s->targets.size() == 1 &&
                            s->targets[0]->text == "_packed_params" &&
                            s->annotation->text == "Tensor";
      if (declares) s->annotation = language::parse_expression(source);
    }
  }
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}
}  // namespace

ArchiveCode::ArchiveCode(const ZipReader& zip, const std::string& folder, int64_t operator_version)
    : resolver_(std::make_shared<language::Resolver>()) {
  resolver_->operator_version = operator_version;
  uint64_t total = 0;
  for (const ZipReader::Entry& e : zip.entries()) {
    if (e.name.rfind(folder, 0) != 0 || !ends_with(e.name, kEnding)) continue;
    total += e.size;
    TENON_CHECK(total <= kMaxCode, ValueError, "load: ", zip.file(), ": its code has more than ",
                kMaxCode, " bytes");
    std::string name = e.name.substr(folder.size());
    name.resize(name.size() - kEnding.size());
    std::replace(name.begin(), name.end(), '/', '.');
    auto source = std::make_shared<Source>();
    source->text = zip.read(e);
    source->file = e.name.substr(zip.root().size());
    modules_[name].file = language::parse_file(source);
    declare_packed_weights(name, modules_[name].file);
  }
}

void ArchiveCode::check_operators() const {
  CodeNeeds needs;
  for (const auto& [name, module] : modules_) add_needs(module.file, needs);
  std::string missing;
  std::size_t n = 0;
  for (const auto& [name, times] : needs.operators) {
    if (language::is_operator(name)) continue;
    missing += core::join("\n  ", name, ", ", times, times == 1 ? " call" : " calls");
    const std::vector<std::string> similar = similar_operators(name);
    for (std::size_t i = 0; i < similar.size(); ++i)
      missing += (i == 0 ? "; close names: " : ", ") + similar[i];
    ++n;
  }
  std::string classes;
  for (const std::string& name : needs.foreign_classes)
    classes += (classes.empty() ? "" : ", ") + name.substr(kForeignClasses.size());
  TENON_CHECK(classes.empty(), NotImplementedError, "the program needs classes of C++ in torch (",
              classes, "), which archives do not have the code of");
  TENON_CHECK(n == 0, NotImplementedError, "the program needs ", n,
              n == 1 ? " operator that is" : " operators that are", " not there:", missing);
}

// A hook is there twice: as a method of its class M, and as a function in the file of M.
void ArchiveCode::drop_methods(const std::string& prefix) {
  const std::size_t dot = prefix.rfind('.');
  const auto outer =
      dot == std::string::npos ? modules_.end() : modules_.find(prefix.substr(0, dot));
  if (outer == modules_.end()) return;
  std::set<std::string> methods;
  for (const auto& c : outer->second.file.classes) {
    if (prefix.compare(dot + 1, std::string::npos, c->name) != 0) continue;
    for (const language::StmtPtr& s : c->body)
      if (s->def) methods.insert(s->def->name);
  }
  auto& functions = modules_.at(prefix).file.functions;
  functions.erase(std::remove_if(functions.begin(), functions.end(),
                                 [&](const std::shared_ptr<language::Def>& f) {
                                   return methods.count(f->name) > 0;
                                 }),
                  functions.end());
}

void ArchiveCode::define(CompilationUnit& unit, const std::string& prefix) {
  Module& m = modules_.at(prefix);
  if (std::exchange(m.defined, true)) return;
  drop_methods(prefix);
  // Classes of C++ are declared, without methods.
  std::erase_if(m.file.classes, [&](const auto& c) {
    return find_custom_class(prefix + "." + c->name) != nullptr;
  });
  resolver_->constants = &constants_;
  language::define_file(unit, prefix, m.file, resolver_);
}

void ArchiveCode::import(CompilationUnit& unit, std::string_view qualified_name) {
  const std::size_t dot = qualified_name.rfind('.');
  if (dot == std::string_view::npos) return;
  const auto it = modules_.find(qualified_name.substr(0, dot));
  if (it != modules_.end()) define(unit, it->first);
}

void ArchiveCode::import_all(CompilationUnit& unit) {
  for (const auto& [prefix, module] : modules_) define(unit, prefix);
  std::size_t done = 0;
  // Compiling one may add others.
  for (std::vector<Function*> all = unit.functions(); done < all.size(); all = unit.functions()) {
    for (; done < all.size(); ++done) {
      all[done]->ensure_defined();
      unwrap_numbers(*all[done]);
    }
  }
}

}  // namespace tenon::jit::formats
