// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loop programs printed as CUDA C, through NVRTC where it is installed; no GPU is needed.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tenon/sdk/loop_program/print_c.h"
#include "tests/loop_program/samples.h"

namespace lp = tenon::sdk::loop_program;

namespace {

// Of NVRTC, whose headers are not there everywhere.
class Compiler {
 public:
  explicit Compiler(void* library) : library_(library) {}

  // The log of a failed compilation; empty if there is code for the architecture.
  std::string compile(const std::string& source, const std::string& architecture) const {
    void* program = nullptr;
    const auto create = find<int (*)(void**, const char*, const char*, int, const char* const*,
                                     const char* const*)>("nvrtcCreateProgram");
    if (create(&program, source.c_str(), "loops.cu", 0, nullptr, nullptr) != 0) return "not made";
    const std::string target = "--gpu-architecture=" + architecture;
    const char* options[] = {target.c_str(), "--fmad=false", "-std=c++17"};
    const auto build = find<int (*)(void*, int, const char* const*)>("nvrtcCompileProgram");
    std::string log;
    if (build(program, 3, options) != 0) {
      log = text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
    } else if (text(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN").size() < 100) {
      log = "there is no code";
    }
    find<int (*)(void**)>("nvrtcDestroyProgram")(&program);
    return log;
  }

 private:
  template <class F>
  F find(const char* name) const {
    return reinterpret_cast<F>(dlsym(library_, name));
  }
  std::string text(void* program, const char* size_of, const char* get) const {
    size_t n = 0;
    find<int (*)(void*, size_t*)>(size_of)(program, &n);
    std::string all(n, '\0');
    find<int (*)(void*, char*)>(get)(program, all.data());
    return all;
  }
  void* library_;
};

void* open_nvrtc() {
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return dlopen(TENON_NVRTC, RTLD_NOW | RTLD_LOCAL);
}

TEST(PrintCuda, NvrtcCompilesThePrograms) {
  void* library = open_nvrtc();
  if (!library) GTEST_SKIP() << "NVRTC is not installed";
  const Compiler nvrtc(library);
  for (const samples::Sample& s : samples::read_all(TENON_LOOP_PROGRAMS)) {
    const std::string source = lp::print_c(s.program, lp::cuda_c()).source;
    EXPECT_EQ(nvrtc.compile(source, "sm_90"), "") << s.name;
    if (s.name == "float16" || s.name == "indirect") {  // atomics and bits of an older one
      EXPECT_EQ(nvrtc.compile(source, "sm_80"), "") << s.name;
    }
  }
  EXPECT_NE(nvrtc.compile("extern \"C\" __global__ void f() { missing(); }", "sm_90"), "");
}

}  // namespace
