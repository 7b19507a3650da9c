// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The files that say which packages there are: dpkg's status file and apt's lists.
#pragma once

#include <string>
#include <vector>

namespace packages {

// Plain, gzip or lz4. std::runtime_error names the file, what is wrong and what to do.
std::string read_text(const std::string& path);

// dpkg's status file and apt's lists under `root` ("/var/lib"), as many as there are, in the order
// of their names.
std::vector<std::string> machine_files(const std::string& root);

}  // namespace packages
