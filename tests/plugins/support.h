// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Folders with plugins to try the loader on, and processes to try it in: the list of plugins is
// made once per process, so a test of the search runs in a child that has not searched yet.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "tenon/plugins/plugins.h"

namespace tenon::test {

namespace fs = std::filesystem;

// tests/bad_plugins, built: libtenon_NAME.so.
fs::path built_plugin(const std::string& name);

// A private folder, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  // libtenon_NAME.so as a copy of a built plugin, and its manifest with some fields replaced
  // ("priority" -> "5"; an empty text removes the field). Values are JSON.
  void add(const std::string& name, const std::string& built,
           std::map<std::string, std::string> fields = {}) const;
  void write(const std::string& file, const std::string& text) const;

 private:
  fs::path path_;
};

// Runs f in a child with these variables set; returns its text. What f throws comes back as "threw:
// ..."; a failed expectation there is one here. With `killed_by` the child may die of a signal,
// which is stored there; else it is 0.
std::string in_child(const std::map<std::string, std::string>& environment,
                     const std::function<std::string()>& f, int* killed_by = nullptr);

// "name state: reason", one line per plugin that was found.
std::string listing();
// Empty if this process can still open a plugin, move a tensor to its device, run a kernel there,
// read the result, refuse an unknown op and close the plugin; else what went wrong. Every child
// that tested a fault ends with this check.
std::string core_works();
// The reason why load() refuses a file, in a child whose core must work afterwards; empty if it
// does not.
std::string refusal(const fs::path& file,
                    const std::map<std::string, std::string>& environment = {});
// load() refuses the file, and its reason has this text.
void expect_refused(const fs::path& file, const std::string& reason);
// The reason of a fault that shows later: loads the file, then copies a tensor to its device and
// back and calls the kernel that it has (`op`, if any). Returns what was reported, one line each.
std::string fault_of(const fs::path& file, const std::string& op);
std::string use_of(const fs::path& file, const std::string& op);  // the same in this process
std::string bytes_of(const fs::path& file);
std::string sha256_of(const fs::path& file);  // by sha256sum

}  // namespace tenon::test
