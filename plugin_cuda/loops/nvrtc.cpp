// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/loops/nvrtc.h"

#include "plugin_cuda/loops/runtime_loader.h"
#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {
namespace {

// As in nvrtc.h, whose results and programs have types of their own.
struct Nvrtc {
  int (*version)(int*, int*);
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*code_size)(void*, std::size_t*);
  int (*code)(void*, char*);
  int (*log_size)(void*, std::size_t*);
  int (*log)(void*, char*);
  int (*destroy)(void**);
};

// That of the runtime's version, if it is there.
void* open_library() {
  for (const int major : {CUDART_VERSION / 1000, 13, 12})
    if (void* library = dlopen(sdk::join("libnvrtc.so.", major).c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

const Nvrtc* open_nvrtc() {
  static Nvrtc n;
  void* library = open_library();
  if (library && find_function(library, "nvrtcVersion", n.version) &&
      find_function(library, "nvrtcCreateProgram", n.create) &&
      find_function(library, "nvrtcCompileProgram", n.compile) &&
      find_function(library, "nvrtcGetCUBINSize", n.code_size) &&
      find_function(library, "nvrtcGetCUBIN", n.code) &&
      find_function(library, "nvrtcGetProgramLogSize", n.log_size) &&
      find_function(library, "nvrtcGetProgramLog", n.log) &&
      find_function(library, "nvrtcDestroyProgram", n.destroy))
    return &n;
  sdk::log(TN_LOG_INFO, sdk::join("cuda: loop programs run operator by operator: libnvrtc.so.",
                                  CUDART_VERSION / 1000, " is not installed"));
  return nullptr;
}

const Nvrtc* nvrtc() {
  static const Nvrtc* const found = open_nvrtc();
  return found;
}

std::string text_of(void* program, int (*size)(void*, std::size_t*), int (*get)(void*, char*)) {
  std::size_t bytes = 0;
  if (size(program, &bytes) != 0) return {};
  std::string text(bytes, '\0');
  return get(program, text.data()) == 0 ? text : std::string();
}

struct Program {
  void* handle = nullptr;
  ~Program() {
    if (handle) nvrtc()->destroy(&handle);
  }
};

}  // namespace

bool nvrtc_found() { return nvrtc() != nullptr; }

std::string nvrtc_version() {
  int major = 0, minor = 0;
  nvrtc()->version(&major, &minor);
  return sdk::join(major, ".", minor);
}

Compiled compile_cuda(const std::string& source, int architecture) {
  Program program;
  int status = nvrtc()->create(&program.handle, source.c_str(), "loops.cu", 0, nullptr, nullptr);
  if (status != 0) return {{}, sdk::join("nvrtcCreateProgram failed: result ", status)};
  const std::string target = sdk::join("--gpu-architecture=sm_", architecture);
  const char* const options[] = {target.c_str(), "--fmad=false", "-std=c++17"};
  status = nvrtc()->compile(program.handle, 3, options);
  if (status != 0)
    return {{},
            sdk::join("nvrtcCompileProgram failed: result ", status, "\n",
                      text_of(program.handle, nvrtc()->log_size, nvrtc()->log).c_str())};
  Compiled made{text_of(program.handle, nvrtc()->code_size, nvrtc()->code), {}};
  if (made.code.empty()) made.why = "nvrtcGetCUBIN gave no code";
  return made;
}

}  // namespace tenon::cuda
