// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "manifest.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "runtime/base/json.h"
#include "tenon/abi/base.h"
#include "tenon/runtime/error.h"
#include "transient.h"

namespace tenon::plugins {
namespace {

using core::Json;
namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 1 << 20;

[[noreturn]] void bad(const fs::path& file, const std::string& what) {
  throw BackendError(core::join("manifest ", file.string(), ": ", what));
}

// Whoever may write a manifest chooses which file is opened and which hash it must have: it is
// checked as libraries are.
std::string read_trusted(const fs::path& file) {
  const CheckedFile checked = open_trusted(file);
  if (checked.id.bytes > kMaxBytes) bad(file, "larger than 1 MiB");
  std::string out(static_cast<std::size_t>(checked.id.bytes), '\0');
  std::size_t n = 0;
  for (ssize_t got = 1; got > 0 && n < out.size();
       n += static_cast<std::size_t>(std::max<ssize_t>(got, 0))) {
    got = read(checked.fd.get(), out.data() + n, out.size() - n);
    if (got < 0) system_fault(core::join("manifest ", file.string()), "cannot be read", errno);
  }
  out.resize(n);
  return out;
}

Json parse_file(const fs::path& file) {
  constexpr int kMaxDepth = 16;
  Json j;
  try {
    j = Json::parse(read_trusted(file), kMaxDepth);
  } catch (const Json::Error& e) {
    bad(file, core::join("it ", e.what()));
  }
  if (!j.as<Json::Object>()) bad(file, "expected a JSON object");
  return j;
}

// The value as a T, or nothing if it is of another type.
template <class T>
std::optional<T> value_as(const Json& v) {
  const T* value = v.as<T>();
  return value ? std::optional<T>(*value) : std::nullopt;
}
template <>
std::optional<std::vector<std::string>> value_as(const Json& v) {
  const auto* items = v.as<Json::Array>();
  std::vector<std::string> out;
  for (std::size_t i = 0; items && i < items->size(); ++i) {
    const auto* text = (*items)[i].as<std::string>();
    if (!text) return std::nullopt;
    out.push_back(*text);
  }
  return items ? std::optional(std::move(out)) : std::nullopt;
}
template <>
std::optional<std::map<std::string, std::string>> value_as(const Json& v) {
  const auto* members = v.as<Json::Object>();
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; members && i < members->size(); ++i) {
    const auto* text = (*members)[i].second.as<std::string>();
    if (!text) return std::nullopt;
    out.emplace((*members)[i].first, *text);
  }
  return members ? std::optional(std::move(out)) : std::nullopt;
}
// Other numbers are not converted to an integer, and none is truncated.
template <>
std::optional<int> value_as(const Json& v) {
  const auto* natural = v.as<uint64_t>();
  const auto* below = v.as<int64_t>();
  if (natural && *natural <= static_cast<uint64_t>(std::numeric_limits<int>::max()))
    return static_cast<int>(*natural);
  if (below && *below >= std::numeric_limits<int>::min()) return static_cast<int>(*below);
  return std::nullopt;
}

// The field's value; without it the fallback, or an error when there is none.
template <class T>
T field(const Json& j, const fs::path& file, const char* name, const char* expected,
        const T* fallback) {
  const Json* v = j.find(name);
  if (!v) {
    if (!fallback) bad(file, core::join("field '", name, "' is missing; expected ", expected));
    return *fallback;
  }
  if (auto value = value_as<T>(*v)) return *std::move(value);
  bad(file, core::join("field '", name, "' is ", v->dump().substr(0, 60), "; expected ", expected));
}

template <class T>
T required(const Json& j, const fs::path& file, const char* name, const char* expected) {
  return field<T>(j, file, name, expected, nullptr);
}
template <class T>
T optional(const Json& j, const fs::path& file, const char* name, const char* expected,
           const T& fallback) {
  return field<T>(j, file, name, expected, &fallback);
}

constexpr const char* kInteger = "an integer of 32 bits";

// Lower-case hex digits after a prefix; empty if the field is absent.
std::string hex_field(const Json& j, const fs::path& file, const char* name,
                      std::string_view prefix, std::size_t n) {
  const std::string before = prefix.empty() ? "" : core::join("'", prefix, "' and ");
  const std::string expected = core::join(before, n, " lower-case hex digits");
  const std::string out = optional<std::string>(j, file, name, expected.c_str(), {});
  if (!j.find(name)) return {};
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
  if (!in) system_fault("/proc/cpuinfo", "cannot be read", errno);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string w; words >> w;) out.push_back(w);
    break;
  }
  if (out.empty() && in.bad()) system_fault("/proc/cpuinfo", "cannot be read", EIO);
  return out;
}

}  // namespace

Manifest read_manifest(const fs::path& file) {
  const Json j = parse_file(file);
  Manifest m;
  m.file = file;
  m.name = required<std::string>(j, file, "name", "the plugin's name");
  if (!is_name(m.name))
    bad(file, "field 'name' must have 1 to 64 letters, digits, '_', '-' or '.'");
  m.device = required<std::string>(j, file, "device", "a device's name");
  if (!is_name(m.device))
    bad(file, "field 'device' must have 1 to 64 letters, digits, '_', '-' or '.'");
  std::string library =
      required<std::string>(j, file, "library", "a path relative to the manifest");
  if (library.empty() || library.find('\0') != std::string::npos)
    bad(file, "field 'library' is not a valid path");
  m.library = (file.parent_path() / library).lexically_normal();
  const Json* abi = j.find("abi");
  if (!abi) bad(file, "field 'abi' is missing; expected {\"major\": 1, \"min_minor\": 0}");
  if (!abi->as<Json::Object>()) bad(file, "field 'abi' must be an object");
  m.abi_major = required<int>(*abi, file, "major", kInteger);
  m.abi_min_minor = optional<int>(*abi, file, "min_minor", kInteger, 0);
  m.arch = optional<std::string>(j, file, "arch", "text", {});
  m.layouts = optional<std::vector<std::string>>(j, file, "layouts", "a list of names", {});
  m.operators = optional<std::vector<std::string>>(j, file, "operators", "a list of names", {});
  m.cpu_features =
      optional<std::vector<std::string>>(j, file, "cpu_features", "a list of names", {});
  m.third_party =
      optional<std::map<std::string, std::string>>(j, file, "third_party", "an object of text", {});
  m.hashes.sha256 = hex_field(j, file, "sha256", "", 64);
  m.hashes.digest = hex_field(j, file, "digest", "xxh64:", 16);
  m.priority = optional<int>(j, file, "priority", kInteger, 0);
  m.variant = optional<std::string>(j, file, "variant", "text", {});
  m.isolated = optional<bool>(j, file, "isolated", "true or false", false);
  return m;
}

std::string why_unsuitable(const Manifest& m) {
  if (m.abi_major != TN_ABI_MAJOR || m.abi_min_minor > TN_ABI_MINOR) {
    return core::join("plugin ", m.name, " speaks ABI ", m.abi_major, ".", m.abi_min_minor,
                      ", core ", TN_ABI_MAJOR, ".", TN_ABI_MINOR);
  }
  utsname host;
  if (!m.arch.empty() && uname(&host) == 0 && m.arch != host.machine) {
    return core::join("built for ", m.arch, ", this machine is ", host.machine);
  }
  if (m.cpu_features.empty()) return {};
  std::vector<std::string> have = cpu_flags();
  for (const std::string& f : m.cpu_features) {
    if (std::find(have.begin(), have.end(), f) == have.end())
      return core::join("this processor has no ", f);
  }
  return {};
}

}  // namespace tenon::plugins
