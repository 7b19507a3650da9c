// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "manifest.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/abi/base.h"
#include "tenon/core/error.h"

namespace tenon::plugins {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 1 << 20;

[[noreturn]] void bad(const fs::path& file, const std::string& what) {
  throw BackendError(core::join("manifest ", file.string(), ": ", what));
}

json parse_file(const fs::path& file) {
  std::error_code ec;
  if (!fs::is_regular_file(file, ec)) bad(file, "not a regular file");
  std::uintmax_t bytes = fs::file_size(file, ec);
  if (ec || bytes > kMaxBytes) bad(file, "larger than 1 MiB");
  std::ifstream in(file, std::ios::binary);
  if (!in) bad(file, "cannot be read");
  json j;
  try {
    j = json::parse(in);
  } catch (const json::exception& e) {
    bad(file, core::join("not JSON: ", e.what()));
  }
  if (!j.is_object()) bad(file, "expected a JSON object");
  return j;
}

// The field's value; without it the fallback, or an error when there is none.
template <class T>
T field(const json& j, const fs::path& file, const char* name, const char* expected, const T* fallback) {
  auto it = j.find(name);
  if (it == j.end()) {
    if (!fallback) bad(file, core::join("field '", name, "' is missing; expected ", expected));
    return *fallback;
  }
  try {
    return it->get<T>();
  } catch (const json::exception&) {
    bad(file, core::join("field '", name, "' is ", it->dump().substr(0, 60), "; expected ", expected));
  }
}

template <class T>
T required(const json& j, const fs::path& file, const char* name, const char* expected) {
  return field<T>(j, file, name, expected, nullptr);
}
template <class T>
T optional(const json& j, const fs::path& file, const char* name, const char* expected, const T& fallback) {
  return field<T>(j, file, name, expected, &fallback);
}

bool is_name(const std::string& s) {
  return !s.empty() && s.size() <= 64 && std::all_of(s.begin(), s.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

std::vector<std::string> cpu_flags() {
  std::ifstream in("/proc/cpuinfo");
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string w; words >> w;) out.push_back(w);
    break;
  }
  return out;
}

}  // namespace

Manifest read_manifest(const fs::path& file) {
  json j = parse_file(file);
  Manifest m;
  m.file = file;
  m.name = required<std::string>(j, file, "name", "the plugin's name");
  if (!is_name(m.name)) bad(file, "field 'name' must have 1 to 64 letters, digits, '_', '-' or '.'");
  m.device = required<std::string>(j, file, "device", "a device's name");
  if (!is_name(m.device)) bad(file, "field 'device' must have 1 to 64 letters, digits, '_', '-' or '.'");
  std::string library = required<std::string>(j, file, "library", "a path relative to the manifest");
  if (library.empty() || library.find('\0') != std::string::npos) bad(file, "field 'library' is no path");
  m.library = (file.parent_path() / library).lexically_normal();
  json abi = required<json>(j, file, "abi", "{\"major\": 1, \"min_minor\": 0}");
  if (!abi.is_object()) bad(file, "field 'abi' must be an object");
  m.abi_major = required<int>(abi, file, "major", "a number");
  m.abi_min_minor = optional<int>(abi, file, "min_minor", "a number", 0);
  m.arch = optional<std::string>(j, file, "arch", "text", {});
  m.layouts = optional<std::vector<std::string>>(j, file, "layouts", "a list of names", {});
  m.cpu_features = optional<std::vector<std::string>>(j, file, "cpu_features", "a list of names", {});
  m.third_party = optional<std::map<std::string, std::string>>(j, file, "third_party", "an object of text", {});
  m.sha256 = optional<std::string>(j, file, "sha256", "64 hex digits", {});
  if (!m.sha256.empty() &&
      (m.sha256.size() != 64 || m.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    bad(file, "field 'sha256' must have 64 lower-case hex digits");
  }
  m.priority = optional<int>(j, file, "priority", "a number", 0);
  m.variant = optional<std::string>(j, file, "variant", "text", {});
  m.isolated = optional<bool>(j, file, "isolated", "true or false", false);
  return m;
}

std::string unsuitable(const Manifest& m) {
  if (m.abi_major != TN_ABI_MAJOR || m.abi_min_minor > TN_ABI_MINOR) {
    return core::join("plugin ", m.name, " speaks ABI ", m.abi_major, ".", m.abi_min_minor, ", core ", TN_ABI_MAJOR,
                      ".", TN_ABI_MINOR);
  }
  utsname host;
  if (!m.arch.empty() && uname(&host) == 0 && m.arch != host.machine) {
    return core::join("built for ", m.arch, ", this machine is ", host.machine);
  }
  if (m.cpu_features.empty()) return {};
  std::vector<std::string> have = cpu_flags();
  for (const std::string& f : m.cpu_features) {
    if (std::find(have.begin(), have.end(), f) == have.end()) return core::join("this processor has no ", f);
  }
  return {};
}

}  // namespace tenon::plugins
