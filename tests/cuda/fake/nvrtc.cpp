// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// NVRTC whose code is a library of the host, made by the host's compiler: "tenon fake cubin", the
// number of its bytes, and these.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "control.h"

namespace {

enum { kSuccess = 0, kInvalidOption = 5, kCompilation = 6, kInternal = 11 };

struct Program {
  std::string source, log, code;
};

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// One line for each kernel of the source.
std::string entries_of(const std::string& source) {
  const std::string before = "__global__ void ";
  std::string lines;
  for (size_t at = source.find(before); at != std::string::npos; at = source.find(before, at)) {
    at += before.size();
    lines += "TENON_FAKE_KERNEL(" + source.substr(at, source.find('(', at) - at) + ")\n";
  }
  return lines;
}

bool compile(Program& p, const std::filesystem::path& folder) {
  std::ofstream(folder / "loops.cpp") << "#include \"tests/cuda/fake/kernel_on_host.h\"\n"
                                      << p.source << entries_of(p.source);
  const std::string to = folder.string();
  // A sanitizer of the program is not for the compiler.
  const std::string command = "env -u LD_PRELOAD '" TENON_FAKE_COMPILER
                              "' -std=c++17 -shared -fPIC -O1 -ffp-contract=off -fwrapv -w "
                              "-I '" TENON_FAKE_SOURCES "' -o '" +
                              to + "/loops.so' '" + to + "/loops.cpp' >'" + to + "/log' 2>&1";
  const bool good = std::system(command.c_str()) == 0;
  p.log = read(folder / "log");
  if (!good) return false;
  const std::string library = read(folder / "loops.so");
  p.code = "tenon fake cubin " + std::to_string(library.size()) + "\n" + library;
  return true;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 0;  // its code is not kept for the real one
  *minor = 1;
  return kSuccess;
}

int nvrtcCreateProgram(void** out, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  if (tenon_fake_call("nvrtcCreateProgram") != 0) return kInternal;
  *out = new Program{source, {}, {}};
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return kSuccess;
}

// The options on which the results depend must be there.
int nvrtcCompileProgram(void* program, int n, const char* const* options) {
  if (tenon_fake_call("nvrtcCompileProgram") != 0) return kInternal;
  for (const std::string wanted : {"--fmad=false", "--gpu-architecture=sm_90"})
    if (std::find(options, options + n, wanted) == options + n) return kInvalidOption;
  std::string name = (std::filesystem::temp_directory_path() / "tenon_nvrtc_XXXXXX").string();
  if (!mkdtemp(name.data())) return kInternal;
  const bool good = compile(*static_cast<Program*>(program), name);
  std::filesystem::remove_all(name);
  return good ? kSuccess : kCompilation;
}

int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  *bytes = static_cast<Program*>(program)->code.size();
  return kSuccess;
}
int nvrtcGetCUBIN(void* program, char* to) {
  const std::string& code = static_cast<Program*>(program)->code;
  std::copy(code.begin(), code.end(), to);
  return kSuccess;
}
int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  *bytes = static_cast<Program*>(program)->log.size() + 1;
  return kSuccess;
}
int nvrtcGetProgramLog(void* program, char* to) {
  const std::string& log = static_cast<Program*>(program)->log;
  std::copy(log.c_str(), log.c_str() + log.size() + 1, to);
  return kSuccess;
}

int nvrtcDestroyProgram(void** program) {
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return kSuccess;
}
}
