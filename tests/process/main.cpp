// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   process_ends NAME FOLDER     runs a scenario
//   process_ends --list          NAME, status and the lines that it says, with | between them
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/process/scenarios.h"

int main(int argc, char** argv) {
  using namespace tenon::process;
  // Never destroyed: its functions run until the very end.
  auto& all = *new std::vector<Scenario>(ends());
  for (Scenario& s : forks()) all.push_back(std::move(s));
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (Scenario s : all) {
      for (char& c : s.output) c = c == '\n' ? '|' : c;
      std::printf("%s\t%d\t%s\n", s.name.c_str(), s.status, s.output.c_str());
    }
    return 0;
  }
  char path[PATH_MAX];
  if (argc != 3 || realpath("/proc/self/exe", path) == nullptr) return 2;
  g_program = path;
  g_folder = argv[2];
  for (const Scenario& s : all) {
    if (s.name == argv[1]) return s.run();
  }
  return 2;
}
