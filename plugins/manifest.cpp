// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "manifest.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
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

// Who may write a manifest chooses which file is opened and which hash that has: it is checked as libraries are.
std::string read_trusted(const fs::path& file) {
  const CheckedFile checked = open_trusted(file);
  if (checked.id.bytes > kMaxBytes) bad(file, "larger than 1 MiB");
  std::string out(kMaxBytes, '\0');
  std::size_t n = 0;
  for (ssize_t got = 1; got > 0 && n < out.size(); n += static_cast<std::size_t>(std::max<ssize_t>(got, 0))) {
    got = read(checked.fd.get(), out.data() + n, out.size() - n);
    if (got < 0) bad(file, "cannot be read");
  }
  out.resize(n);
  return out;
}

json parse_file(const fs::path& file) {
  const std::string text = read_trusted(file);
  std::vector<std::set<std::string>> keys;  // of each object that is open
  const auto once = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      bad(file, core::join("field '", parsed.get<std::string>().substr(0, 60), "' is there twice"));
    }
    return true;
  };
  json j;
  try {
    j = json::parse(text, once);
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

// No other number is taken for an integer, and none is cut.
int integer(const json& j, const fs::path& file, const char* name, int otherwise) {
  const json value = optional<json>(j, file, name, "an integer", otherwise);
  if (!value.is_number_integer() || value < std::numeric_limits<int>::min() ||
      value > std::numeric_limits<int>::max()) {
    bad(file, core::join("field '", name, "' is ", value.dump().substr(0, 60), "; expected an integer of 32 bits"));
  }
  return value.get<int>();
}

// Lower-case hex digits behind a prefix; empty where the field is not there.
std::string hex_field(const json& j, const fs::path& file, const char* name, std::string_view prefix, std::size_t n) {
  const std::string before = prefix.empty() ? "" : core::join("'", prefix, "' and ");
  const std::string expected = core::join(before, n, " lower-case hex digits");
  const std::string out = optional<std::string>(j, file, name, expected.c_str(), {});
  if (!j.contains(name)) return {};
  if (out.size() != prefix.size() + n || out.rfind(prefix, 0) != 0 ||
      out.find_first_not_of("0123456789abcdef", prefix.size()) != std::string::npos) {
    bad(file, core::join("field '", name, "' must have ", expected));
  }
  return out;
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
  (void)required<json>(abi, file, "major", "an integer");
  m.abi_major = integer(abi, file, "major", 0);
  m.abi_min_minor = integer(abi, file, "min_minor", 0);
  m.arch = optional<std::string>(j, file, "arch", "text", {});
  m.layouts = optional<std::vector<std::string>>(j, file, "layouts", "a list of names", {});
  m.cpu_features = optional<std::vector<std::string>>(j, file, "cpu_features", "a list of names", {});
  m.third_party = optional<std::map<std::string, std::string>>(j, file, "third_party", "an object of text", {});
  m.hashes.sha256 = hex_field(j, file, "sha256", "", 64);
  m.hashes.digest = hex_field(j, file, "digest", "xxh64:", 16);
  m.priority = integer(j, file, "priority", 0);
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
