// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whether the process runs with raised privileges, the folders that are searched, and what was
// found: for a test that runs it with the rights of another group.
#include <sys/auxv.h>

#include <cstdio>

#include "tenon/plugins/plugins.h"

int main() {
  std::printf("secure %d\n", getauxval(AT_SECURE) != 0);
  for (const std::string& f : tenon::plugins::search_folders()) std::printf("%s\n", f.c_str());
  for (const tenon::plugins::Info& i : tenon::plugins::list()) {
    std::printf("%s %s\n", i.name.c_str(), std::string(tenon::plugins::to_string(i.state)).c_str());
  }
  return 0;
}
