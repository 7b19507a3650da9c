// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where plugins are searched for, and which of them the user selects.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::plugins {

namespace fs = std::filesystem;

struct SearchPath {
  std::vector<fs::path> folders;     // absolute, in order; they need not exist
  std::vector<std::string> ignored;  // "'./lib' of TENON_PLUGIN_PATH is not an absolute path"
};

// TENON_PLUGIN_PATH alone; or TENON_ADD_PLUGIN_PATH, the folder of the core library (and tenon/ and
// tenon-plugins/ in it), ~/.local/lib/tenon. Never the current directory. Under raised privileges
// the environment is not read.
SearchPath search_path();

// libtenon_*.json and libtenon_*.so of one folder, sorted by name; the core library is left out.
// Empty when the folder is not there or may not be read; BackendError for a transient fault.
struct FolderContents {
  std::vector<fs::path> manifests, libraries;
};
FolderContents read_folder(const fs::path& folder);

// Empty if the filters accept the plugin, else the reason: TENON_PLUGINS_SELECT and
// TENON_PLUGINS_DISABLE, lists of globs with commas between.
std::string why_filtered_out(const std::string& name);

// Position of the plugin in TENON_PLUGINS_PREFER, a list of globs: 0 is the first; plugins that are
// not named come last.
int preference_rank(const std::string& name);

}  // namespace tenon::plugins
