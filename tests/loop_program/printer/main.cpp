// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes loop programs as C, and as CUDA C with functions that run it on the host, and a table of
// all of these kernels: printer FOLDER FILE...
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/parse.h"
#include "tenon/sdk/loop_program/print_c.h"

namespace lp = tenon::sdk::loop_program;

namespace {

// With the signature of kernels in C; all items at once.
std::string wrapper_of(const lp::CProgram& c, const lp::CKernel& kernel) {
  std::string text = "extern \"C\" void run_" + kernel.name +
                     "(const tn_i64* n, const double* r, void* const* p, tn_report* word, int op, "
                     "tn_i64, tn_i64) {\n  (void)r, (void)word, (void)op;\n  " +
                     kernel.name + "_numbers numbers;\n  memcpy(&numbers, n, sizeof numbers);\n";
  std::string arguments = "numbers";
  if (!kernel.reals.empty()) {
    text += "  " + kernel.name + "_reals reals;\n  memcpy(&reals, r, sizeof reals);\n";
    arguments += ", reals";
  }
  for (size_t k = 0; k < kernel.pointers.size(); ++k) {
    const lp::Array& array = c.program->arrays[static_cast<size_t>(kernel.pointers[k].array)];
    arguments += ", (" + lp::CValues::memory_type(array.dtype) + "*)p[" + std::to_string(k) + "]";
  }
  if (kernel.reports) arguments += ", word, op";
  return text + "  run_threads([&] { " + kernel.name + "(" + arguments + "); });\n}\n";
}

struct Table {
  std::string declared, listed;
  void add(const std::string& name) {
    declared += "void " + name + "();\n";
    listed += "    {\"" + name + "\", " + name + "},\n";
  }
};

void print(const std::filesystem::path& folder, const std::string& file, Table& table) {
  const std::string name = std::filesystem::path(file).stem().string();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const lp::Program program = lp::parse(text.str());
  lp::check(program);
  const lp::CProgram c = lp::print_c(program, lp::c99(), "c_" + name);
  std::ofstream(folder / (name + ".c")) << c.source;
  for (const lp::CKernel& it : c.kernels) table.add(it.name);
  const lp::CProgram cuda = lp::print_c(program, lp::cuda_c(), "cuda_" + name);
  std::ofstream out(folder / (name + ".cpp"));
  out << "#include \"tests/loop_program/printer/cuda_on_host.h\"\n" << cuda.source;
  for (const lp::CKernel& it : cuda.kernels) {
    out << wrapper_of(cuda, it);
    table.add("run_" + it.name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Table table;
  for (int i = 2; i < argc; ++i) {
    try {
      print(argv[1], argv[i], table);
    } catch (const lp::Error& e) {
      std::fprintf(stderr, "%s: %s\n", argv[i], e.what());
      return 1;
    }
  }
  std::ofstream(std::filesystem::path(argv[1]) / "table.c")
      << table.declared
      << "const struct {\n  const char* name;\n  void (*kernel)();\n} tn_printed[] = {\n"
      << table.listed << "    {0, 0}};\n";
  return 0;
}
