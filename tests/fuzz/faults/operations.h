// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a program does with the library, each as one call whose numbers are known.
#pragma once

#include <string>
#include <vector>

namespace tenon::faults {

struct Operation {
  const char* name;
  // The same numbers each time. May throw what the library throws.
  std::vector<double> (*run)();
  // Before the first run, with nothing armed: files to load. May be null.
  void (*prepare)() = nullptr;
};

const std::vector<Operation>& operations();
extern std::string g_folder;  // for files

}  // namespace tenon::faults
