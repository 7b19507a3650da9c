// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/compiled.h"

#include <dlfcn.h>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>

#include "isa/isa.h"
#include "plugin_llvm/link.h"
#include "plugin_llvm/processor.h"
#include "plugin_llvm/spec/api.h"
#include "plugin_llvm/spec/key.h"
#include "tenon/sdk/code_file.h"
#include "tenon/sdk/error.h"
#include "tenon/sdk/loop_program/trial.h"
#include "tenon/sdk/parallel.h"

namespace tenon::llvm_loops {
namespace {

std::string compiler_path() {
  Dl_info info;
  static const int here = 0;
  if (dladdr(&here, &info) == 0) return kCompilerLibrary;
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + kCompilerLibrary;
}

// Null where it cannot be opened.
Compile open_compiler() {
  const std::string path = compiler_path();
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

// The code of objects depends on both libraries and on the processor.
const std::string& builds() {
  static const int here = 0;
  static const std::string& text =
      *new std::string(sdk::build_of_library(&here) + " " +
                       sdk::build_of_file(compiler_path().c_str()) + " " + processor());
  return text;
}

// From disk where it is kept, without the compiler.
Linked linked(const Spec& spec, const sdk::CodeFile& file, const char*& from) {
  std::string note;
  const std::optional<std::string> kept = file.read(note);
  if (kept) {
    from = ", from disk";
    Linked found = link(*kept);
    if (found.kernel) return found;
    note = found.error;
  }
  if (!note.empty()) sdk::log(TN_LOG_WARNING, "llvm: " + note);
  from = "";
  if (!compiler()) return {};
  Object made = compiler()(spec, lanes());
  if (!made.error.empty()) return {nullptr, std::move(made.error)};
  const std::string fault = file.write(made.code);  // also in place of one not used
  if (note.empty() && !fault.empty()) sdk::log(TN_LOG_WARNING, "llvm: " + fault);
  return link(made.code);
}

Kernel make_kernel(const Spec& spec, const std::string& folder, const std::string& key) {
  const auto start = std::chrono::steady_clock::now();
  const char* from = "";
  const Linked made = linked(spec, sdk::CodeFile(folder, "llvm", builds() + "\n" + key), from);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  if (made.kernel)
    sdk::log(TN_LOG_DEBUG, sdk::join("llvm: nest ", spec.nest, " of a loop program in ",
                                     time.count(), " ms", from));
  else if (!made.error.empty())
    sdk::log(TN_LOG_WARNING, "llvm: a loop program is left to other kernels: " + made.error);
  return made.kernel;
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
  const std::string key = key_of(spec, text, lanes());
  {
    const std::lock_guard<std::mutex> hold(lock);
    const auto at = all.find(key);
    if (at != all.end()) return at->second;
  }
  const Kernel kernel = make_kernel(spec, lp::is_trial(text) ? std::string() : folder, key);
  const std::lock_guard<std::mutex> hold(lock);
  return all.emplace(key, kernel).first->second;
}

}  // namespace tenon::llvm_loops
