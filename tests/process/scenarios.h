// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Ways in which a process ends or forks, and what it computes meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tenon::process {

// Computes something whose result is known, and prints "NAME right" or what is wrong.
struct Work {
  const char* name;
  void (*run)();
};
const std::vector<Work>& works();
const Work& work(const std::string& name);

struct Scenario {
  std::string name;
  // Runs it; what it returns is main's status. It may end the process itself.
  std::function<int()> run;
  std::string output;  // what the process and its children print, line by line
  int status = 0;
};
std::vector<Scenario> ends();   // exit_points.cpp
std::vector<Scenario> forks();  // forks.cpp

// To stdout at once, also after the standard streams are destroyed.
void say(const std::string& line);
extern std::string& g_program;  // path of this program; never destroyed, like the next
extern std::string& g_folder;   // for files

}  // namespace tenon::process
