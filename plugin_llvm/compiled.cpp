// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/compiled.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "isa/isa.h"
#include "plugin_llvm/spec/key.h"
#include "tenon/sdk/code_file.h"
#include "tenon/sdk/error.h"
#include "tenon/sdk/loop_program/trial.h"
#include "tenon/sdk/parallel.h"

namespace tenon::llvm_loops {
namespace {

// Null where it cannot be opened.
Compile open_compiler() {
  Dl_info info;
  static const int here = 0;
  if (dladdr(&here, &info) == 0) return nullptr;
  std::string path = info.dli_fname;
  path = path.substr(0, path.rfind('/') + 1) + kCompilerLibrary;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = library ? dlsym(library, kCompileSymbol) : nullptr;
  if (!entry) {
    const char* why = dlerror();
    sdk::log(TN_LOG_WARNING, sdk::join("llvm: loop programs are not compiled: ", why ? why : path));
    return nullptr;
  }
  return reinterpret_cast<Compile (*)()>(entry)();
}

Compile compiler() {
  static const Compile compile = open_compiler();
  return compile;
}

Kernel compile(const Spec& spec, const Options& options) {
  if (!compiler()) return nullptr;
  const Result result = compiler()(spec, options);
  if (!result.note.empty()) sdk::log(TN_LOG_WARNING, "llvm: " + result.note);
  if (!result.kernel)
    sdk::log(TN_LOG_WARNING, "llvm: a loop program is left to other kernels: " + result.error);
  else
    sdk::log(TN_LOG_DEBUG,
             sdk::join("llvm: nest ", spec.nest, " of a loop program in ", result.milliseconds,
                       " ms", result.from_disk ? ", from disk" : ""));
  return result.kernel;
}

}  // namespace

int lanes() {
  switch (cpu::isa()) {
    case cpu::Isa::Avx3:
      return 16;
    case cpu::Isa::Avx2:
      return 8;
    default:
      return 0;
  }
}

// Two threads that miss at once both compile, and one result is kept.
Kernel find_kernel(const Spec& spec, std::string_view text) {
  static std::mutex lock;
  static auto& all = *new std::map<std::string, Kernel>;
  static const std::string folder = sdk::find_code_folder(sdk::setting("LLVM_CACHE"), "llvm");
  Options options{std::string(text), lp::is_trial(text) ? std::string() : folder, lanes()};
  const std::string key = key_of(spec, options);
  {
    const std::lock_guard<std::mutex> hold(lock);
    const auto at = all.find(key);
    if (at != all.end()) return at->second;
  }
  const Kernel kernel = compile(spec, options);
  const std::lock_guard<std::mutex> hold(lock);
  return all.emplace(key, kernel).first->second;
}

}  // namespace tenon::llvm_loops
