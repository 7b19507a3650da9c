// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// libtenon_NAME.json: what a plugin states before its library is opened.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "file_check.h"

namespace tenon::plugins {

struct Manifest {
  std::filesystem::path file;
  std::filesystem::path library;  // absolute; relative entries are taken from the manifest's folder
  std::string name;
  std::string device;
  std::vector<std::string> layouts, operators;
  int abi_major = 0;
  int abi_min_minor = 0;
  std::string arch;
  std::vector<std::string> cpu_features;           // as in /proc/cpuinfo
  std::map<std::string, std::string> third_party;  // soname -> version
  Hashes hashes;  // of the library; empty: it is opened in a child process first
  int priority = 0;
  std::string variant;
  bool isolated = false;
};

// BackendError names the file and the wrong field, or that others may write the file. Unknown
// fields are skipped.
Manifest read_manifest(const std::filesystem::path& file);
// Whether this core and this machine can run it; the reason if not, else empty. Opens nothing.
std::string why_unsuitable(const Manifest& m);

}  // namespace tenon::plugins
