// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/archive_code.h"

#include <algorithm>

#include "jit/formats/upgrade.h"
#include "tenon/jit/operator.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {
constexpr uint64_t kMaxCode = uint64_t{64} << 20;  // bytes of all files
constexpr std::string_view kEnding = ".py";

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
  }
}

void ArchiveCode::check_operators() const {
  std::map<std::string, int64_t> counts;
  for (const auto& [name, module] : modules_) count_operators(module.file, counts);
  std::string missing;
  std::size_t n = 0;
  for (const auto& [name, times] : counts) {
    if (!operators_named(name).empty() || language::is_composed(name)) continue;
    missing += core::join("\n  ", name, ", ", times, times == 1 ? " call" : " calls");
    const std::vector<std::string> similar = similar_operators(name);
    for (std::size_t i = 0; i < similar.size(); ++i)
      missing += (i == 0 ? "; close names: " : ", ") + similar[i];
    ++n;
  }
  TENON_CHECK(n == 0, NotImplementedError, "the program needs ", n,
              n == 1 ? " operator that is" : " operators that are", " not there:", missing);
}

// A hook is there twice: as a method of its class M, and as a function in the file of M.
void ArchiveCode::drop_methods(CompilationUnit& unit, const std::string& prefix) {
  const std::size_t dot = prefix.rfind('.');
  const auto outer =
      dot == std::string::npos ? modules_.end() : modules_.find(prefix.substr(0, dot));
  if (outer == modules_.end()) return;
  const auto& classes = outer->second.file.classes;
  if (std::none_of(classes.begin(), classes.end(), [&](const auto& c) {
        return prefix.compare(dot + 1, std::string::npos, c->name) == 0;
      }))
    return;
  define(unit, outer->first);
  auto& functions = modules_.at(prefix).file.functions;
  functions.erase(std::remove_if(functions.begin(), functions.end(),
                                 [&](const std::shared_ptr<language::Def>& f) {
                                   return unit.find_function(prefix + "." + f->name) != nullptr;
                                 }),
                  functions.end());
}

void ArchiveCode::define(CompilationUnit& unit, const std::string& prefix) {
  Module& m = modules_.at(prefix);
  if (std::exchange(m.defined, true)) return;
  drop_methods(unit, prefix);
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
      upgrade_operators(*all[done], resolver_->operator_version);
      unwrap_numbers(*all[done]);
    }
  }
}

}  // namespace tenon::jit::formats
