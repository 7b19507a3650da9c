// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "support.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tenon/core/error.h"

namespace tenon::test {

fs::path built_plugin(const std::string& name) {
  static const fs::path folder = fs::canonical("/proc/self/exe").parent_path().parent_path() / "tests/bad_plugins";
  return folder / ("libtenon_" + name + ".so");
}

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "tenon-plugins-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  path_ = fs::canonical(pattern);
}

Folder::~Folder() {
  std::error_code ec;
  fs::remove_all(path_, ec);
}

void Folder::write(const std::string& file, const std::string& text) const {
  std::ofstream out(path_ / file, std::ios::binary);
  out << text;
  out.close();
  fs::permissions(path_ / file, fs::perms::owner_read | fs::perms::owner_write);
}

void Folder::add(const std::string& name, const std::string& built, std::map<std::string, std::string> fields) const {
  fs::path library = path_ / ("libtenon_" + name + ".so");
  if (!built.empty()) fs::copy_file(built_plugin(built), library, fs::copy_options::overwrite_existing);
  std::map<std::string, std::string> all = {{"name", '"' + name + '"'},
                                            {"library", "\"libtenon_" + name + ".so\""},
                                            {"device", '"' + name + '"'},
                                            {"abi", R"({"major": 1, "min_minor": 0})"}};
  for (auto& [key, value] : fields) all[key] = value;
  std::string text;
  for (auto& [key, value] : all) {
    if (!value.empty()) text += (text.empty() ? "{\"" : ",\n\"") + key + "\": " + value;
  }
  write("libtenon_" + name + ".json", text + "}\n");
}

std::string in_child(const std::map<std::string, std::string>& environment, const std::function<std::string()>& f) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (const char* name :
         {"TENON_PLUGIN_PATH", "TENON_ADD_PLUGIN_PATH", "TENON_PLUGINS_SELECT", "TENON_PLUGINS_DISABLE"}) {
      unsetenv(name);
    }
    for (auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::string text;
    try {
      text = f();
    } catch (const std::exception& e) {
      text = std::string("threw: ") + e.what();
    }
    for (std::size_t at = 0; at < text.size();) {
      ssize_t n = write(ends[1], text.data() + at, text.size() - at);
      if (n <= 0) break;
      at += static_cast<std::size_t>(n);
    }
    _exit(testing::Test::HasFailure());
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child died with status " << status << "\n" << out;
  return out;
}

std::string listing() {
  std::string out;
  for (const plugins::Info& i : plugins::list()) {
    out += i.name + " " + std::string(plugins::to_string(i.state)) + ": " + i.reason + "\n";
  }
  return out;
}

std::string refusal(const fs::path& file) {
  return in_child({{"TENON_PLUGIN_PATH", "/nonexistent"}}, [&]() -> std::string {
    try {
      plugins::load(file.string());
    } catch (const BackendError& e) {
      return e.what();
    }
    return {};
  });
}

}  // namespace tenon::test
