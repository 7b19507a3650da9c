// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes the manifest of a library, or updates the digest in one.
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "inspect.h"
#include "plugins/digest.h"
#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

ordered_json read_json(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  TENON_CHECK(in, ValueError, file.string(), ": cannot be read");
  try {
    ordered_json out = ordered_json::parse(in);
    TENON_CHECK(out.is_object(), ValueError, file.string(), ": expected a JSON object");
    return out;
  } catch (const nlohmann::json::exception& e) {
    throw ValueError(core::join(file.string(), ": not JSON: ", e.what()));
  }
}

std::string digest_of(const fs::path& library) {
  const int fd = open(library.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string out = fd >= 0 ? plugins::loaded_digest(fd) : "";
  if (fd >= 0) close(fd);
  TENON_CHECK(!out.empty(), ValueError, library.string(),
              ": is not a shared library that can be read");
  return out;
}

// "layout run_length 1.0" of the descriptor's extensions.
ordered_json layouts_of(const ordered_json& descriptor) {
  ordered_json out = ordered_json::array();
  for (const std::string extension : descriptor.at("extensions")) {
    const std::size_t end = extension.rfind(' ');
    if (extension.rfind("layout ", 0) == 0 && end > 7) out.push_back(extension.substr(7, end - 7));
  }
  return out;
}

ordered_json describe_library(const fs::path& library, int seconds) {
  const ordered_json d = inspect_file(fs::canonical(library).string(), seconds);
  TENON_CHECK(d.contains("name"), ValueError, library.string(), ": is of another ABI");
  utsname host;
  return {
      {"name", d.at("name")},
      {"library", library.filename().string()},
      {"abi", {{"major", d.at("abi").at("major")}, {"min_minor", d.at("abi").at("target_minor")}}},
      {"arch", uname(&host) == 0 ? host.machine : ""},
      {"device", d.at("device")},
      {"layouts", layouts_of(d)},
      {"priority", 0}};
}

// `manifest` with the digest after the library's name; replaces an older hash.
ordered_json with_digest(const ordered_json& manifest, const std::string& digest) {
  ordered_json out = ordered_json::object();
  for (const auto& [key, value] : manifest.items()) {
    if (key == "digest" || key == "sha256") continue;
    out[key] = value;
    if (key == "library") out["digest"] = digest;
  }
  return out;
}

// Atomically: a process that starts meanwhile reads the old file or the new one.
void write_file(const fs::path& file, const std::string& text) {
  const fs::path part = file.string() + ".part";
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  std::error_code ec;
  if (out) fs::rename(part, file, ec);
  if (!out || ec) {
    fs::remove(part, ec);
    throw ValueError(core::join(file.string(), ": cannot be written"));
  }
}

}  // namespace

void manifest(const std::string& file, int seconds) {
  const bool is_manifest = fs::path(file).extension() == ".json";
  const fs::path path = is_manifest ? fs::path(file) : fs::path(file).replace_extension(".json");
  TENON_CHECK(fs::exists(file), ValueError, file, ": no such file");
  const bool known = fs::exists(path);
  const ordered_json before = known ? read_json(path) : describe_library(file, seconds);
  const auto library = before.find("library");
  TENON_CHECK(library != before.end() && library->is_string(), ValueError, path.string(),
              ": field 'library' is missing; expected a path relative to the manifest");
  const std::string digest = digest_of(path.parent_path() / library->get<std::string>());
  write_file(path, with_digest(before, digest).dump(2) + "\n");
  std::cout << path.string() << ": " << (known ? "updated" : "written") << ", " << digest << "\n";
}

}  // namespace tenon::command
