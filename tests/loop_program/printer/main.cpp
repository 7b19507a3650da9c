// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes the C of loop programs, and a table of their kernels: printer FOLDER FILE...
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/parse.h"
#include "tenon/sdk/loop_program/print_c.h"

namespace lp = tenon::sdk::loop_program;

int main(int argc, char** argv) {
  const std::filesystem::path folder = argv[1];
  std::string declared, listed;
  for (int i = 2; i < argc; ++i) {
    const std::string name = std::filesystem::path(argv[i]).stem().string();
    std::ostringstream text;
    text << std::ifstream(argv[i]).rdbuf();
    try {
      const lp::Program program = lp::parse(text.str());
      lp::check(program);
      const lp::CProgram c = lp::print_c(program, lp::c99(), "tn_" + name);
      std::ofstream(folder / (name + ".c")) << c.source;
      for (const lp::CKernel& it : c.kernels) {
        declared += "void " + it.name + "();\n";
        listed += "    {\"" + it.name + "\", " + it.name + "},\n";
      }
    } catch (const lp::Error& e) {
      std::fprintf(stderr, "%s: %s\n", argv[i], e.what());
      return 1;
    }
  }
  std::ofstream(folder / "table.c") << declared
                                    << "const struct {\n  const char* name;\n  void (*kernel)();\n"
                                       "} tn_printed[] = {\n"
                                    << listed << "    {0, 0}};\n";
  return 0;
}
