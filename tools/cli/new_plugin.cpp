// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "commands.h"
#include "project.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNameLength = 32;  // of a device

void check_name(const std::string& name) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  bool good = !name.empty() && name.size() <= kMaxNameLength && name[0] >= 'a' && name[0] <= 'z' &&
              std::all_of(name.begin(), name.end(), plain);
  TENON_CHECK(good, ValueError, "'", name,
              "' is not a valid plugin name: it must start with a lowercase letter, have 1 to ",
              kMaxNameLength,
              " lowercase letters, digits and '_', and not name an existing device");
  TENON_CHECK(core::device_slot_from_name(name) < 0 && name != "meta", ValueError, "the device '",
              name, "' exists already; choose a name of your own");
}

// The prefix of this command's installation, if the SDK is installed too.
std::string install_prefix() {
  std::error_code ec;
  fs::path program = fs::read_symlink("/proc/self/exe", ec),
           prefix = program.parent_path().parent_path();
  for (const char* lib : {"lib", "lib64", TENON_LIBDIR}) {
    if (!ec && fs::exists(prefix / lib / "cmake/TenonSDK", ec)) return prefix.string();
  }
  return "PREFIX_OF_TENON";
}

std::string replace_all(std::string text, const std::string& key, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; at += value.size()) {
    text.replace(at, key.size(), value);
  }
  return text;
}

// Fails if the file exists, also if it appeared since it was looked for.
void write_new(const fs::path& file, const std::string& text) {
  std::FILE* f = std::fopen(file.c_str(), "wxe");
  TENON_CHECK(f, ValueError, "cannot create ", file.string(), ": ",
              std::string(std::strerror(errno)));
  bool good = std::fwrite(text.data(), 1, text.size(), f) == text.size();
  good = std::fclose(f) == 0 && good;
  TENON_CHECK(good, ValueError, "cannot write ", file.string());
}

}  // namespace

void new_plugin(const std::string& name, const std::string& dir) {
  check_name(name);
  const fs::path folder = dir.empty() ? fs::path(name) : fs::path(dir);
  const std::string prefix = install_prefix();
  const std::pair<std::string, const char*> files[] = {{"CMakeLists.txt", project::kCMakeLists},
                                                       {name + ".cpp", project::kPlugin},
                                                       {"README.md", project::kReadme}};
  for (const auto& [file, text] : files) {
    TENON_CHECK(!fs::exists(fs::symlink_status(folder / file)), ValueError,
                (folder / file).string(),
                " exists already and is left unchanged; choose another folder with --dir");
  }
  std::error_code ec;
  fs::create_directories(folder, ec);
  TENON_CHECK(!ec, ValueError, "cannot create the folder ", folder.string(), ": ", ec.message());
  for (const auto& [file, text] : files) {
    write_new(folder / file, replace_all(replace_all(text, "@NAME@", name), "@PREFIX@", prefix));
  }
  std::cout << "A backend for the device '" << name << "' is in " << folder.string()
            << ". Next:\n\n"
            << "  cd " << folder.string()
            << "\n  cmake -S . -B build -DCMAKE_PREFIX_PATH=" << prefix
            << "\n  cmake --build build\n  TENON_ADD_PLUGIN_PATH=$PWD/build/lib tenon "
               "devices\n\nREADME.md has the "
               "next steps.\n";
}

}  // namespace tenon::command
