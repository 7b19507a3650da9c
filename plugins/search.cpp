// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "search.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>

#include "runtime/base/settings.h"
#include "tenon/runtime/error.h"
#include "transient.h"

namespace tenon::plugins {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

void add(SearchPath& out, const fs::path& folder) {
  fs::path normal = folder.lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  if (std::find(out.folders.begin(), out.folders.end(), normal) == out.folders.end())
    out.folders.push_back(normal);
}

void add_list(SearchPath& out, const std::string& text, const char* variable) {
  for (const std::string& item : split(text, ':')) {
    if (fs::path(item).is_absolute()) {
      add(out, item);
    } else {
      out.ignored.push_back(core::join("'", item, "' of ", variable, " is not an absolute path"));
    }
  }
}

fs::path core_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&search_path), &info) || !info.dli_fname) return {};
  std::error_code ec;
  fs::path file = fs::canonical(info.dli_fname, ec);
  if (ec && is_transient(ec.value())) system_fault(info.dli_fname, "cannot be found", ec.value());
  return ec ? fs::path() : file.parent_path();
}

bool matches_any(const std::string& name, const std::string& globs) {
  for (const std::string& glob : split(globs, ',')) {
    if (fnmatch(glob.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

// The project's own libraries, which lie beside core and are no plugins.
bool is_library_of_tenon(std::string_view file) {
  constexpr std::string_view names[] = {"core", "jit", "onnx", "distributed"};
  const std::string_view rest = file.substr(std::string_view("libtenon_").size());
  const std::string_view name = rest.substr(0, rest.find('.'));
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

SearchPath search_path() {
  SearchPath out;
  std::string exclusive = core::setting("PLUGIN_PATH");
  if (!exclusive.empty()) {
    add_list(out, exclusive, "TENON_PLUGIN_PATH");
    return out;
  }
  add_list(out, core::setting("ADD_PLUGIN_PATH"), "TENON_ADD_PLUGIN_PATH");
  if (fs::path beside = core_folder(); !beside.empty()) {
    add(out, beside);
    add(out, beside / "tenon");
    add(out, beside / "tenon-plugins");
  }
  const char* home = secure_getenv("HOME");
  if (home && fs::path(home).is_absolute()) add(out, fs::path(home) / ".local/lib/tenon");
  return out;
}

FolderContents read_folder(const fs::path& folder) {
  FolderContents out;
  // Not fs::directory_iterator, which ends the process if it has no memory for a name.
  const auto close = [](DIR* d) { closedir(d); };
  const std::unique_ptr<DIR, decltype(close)> open(opendir(folder.c_str()), close);
  if (!open && is_transient(errno))
    system_fault(folder.string(), "the folder cannot be read", errno);
  while (const dirent* entry = open ? readdir(open.get()) : nullptr) {
    const std::string name = entry->d_name;
    const fs::path p = folder / name;
    if (name.rfind("libtenon_", 0) != 0 || is_library_of_tenon(name)) continue;
    if (p.extension() == ".json") out.manifests.push_back(p);
    if (p.extension() == ".so") out.libraries.push_back(p);
  }
  std::sort(out.manifests.begin(), out.manifests.end());
  std::sort(out.libraries.begin(), out.libraries.end());
  return out;
}

std::string why_filtered_out(const std::string& name) {
  std::string select = core::setting("PLUGINS_SELECT");
  if (!select.empty() && !matches_any(name, select)) {
    return core::join("not selected by TENON_PLUGINS_SELECT=", select);
  }
  std::string disable = core::setting("PLUGINS_DISABLE");
  if (matches_any(name, disable)) return core::join("disabled by TENON_PLUGINS_DISABLE=", disable);
  return {};
}

int preference_rank(const std::string& name) {
  std::vector<std::string> globs = split(core::setting("PLUGINS_PREFER"), ',');
  auto matches = [&](const std::string& glob) {
    return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  };
  return static_cast<int>(std::find_if(globs.begin(), globs.end(), matches) - globs.begin());
}

}  // namespace tenon::plugins
