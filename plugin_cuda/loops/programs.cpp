// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/loops/programs.h"

#include <charconv>
#include <map>

#include "plugin_cuda/loops/nvrtc.h"
#include "plugin_cuda/runtime/runtime.h"
#include "tenon/sdk/code_file.h"
#include "tenon/sdk/loop_program/print_c.h"
#include "tenon/sdk/parallel.h"

namespace tenon::cuda {
namespace {

namespace lp = sdk::loop_program;

using Key = std::pair<int, std::string>;
struct Programs {
  std::mutex lock;
  std::map<Key, std::shared_ptr<LoadedProgram>> loaded;
};
Programs& programs() {
  static auto& p = *new Programs;
  return p;
}

constexpr std::size_t kMaxPrograms = 512;
std::atomic<std::size_t> g_max_programs{kMaxPrograms};

void leave(const std::string& why) {
  sdk::log(TN_LOG_WARNING, "cuda: a loop program is left to other kernels: " + why);
}

// What another compiler or driver may succeed with.
bool is_of_the_code(cudaError_t e) {
  return e == cudaErrorInvalidKernelImage || e == cudaErrorNoKernelImageForDevice ||
         e == cudaErrorUnsupportedPtxVersion || e == cudaErrorNotSupported;
}

// Of the code alone: false, and the device is as before. Other errors are thrown.
bool is_taken(cudaError_t status, const char* call, int index) {
  if (!is_of_the_code(status)) check(status, call, index);
  if (status == cudaSuccess) return true;
  (void)cudaGetLastError();
  leave(sdk::join(call, " failed: ", cudaGetErrorName(status)));
  return false;
}

// The attributes are not used: asking for them loads the kernel here, not at a launch that may be
// captured.
void load(LoadedProgram& made, const std::string& code, int index) {
  const RuntimeLoader& runtime = *runtime_loader();
  if (!is_taken(runtime.load(&made.library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                "cudaLibraryLoadData", index))
    return;
  std::vector<KernelHandle> kernels(made.printed.kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const char* name = made.printed.kernels[k].name.c_str();
    check(runtime.kernel(&kernels[k], made.library, name), "cudaLibraryGetKernel", index);
    cudaFuncAttributes attributes;
    const cudaError_t status = cudaFuncGetAttributes(&attributes, kernels[k]);
    if (status == cudaErrorInvalidDeviceFunction)
      (void)cudaGetLastError();  // of a runtime that takes no such handles
    else if (!is_taken(status, "cudaFuncGetAttributes", index))
      return;
  }
  made.kernels.swap(kernels);
}

Compiled compile_or_read(const std::string& source, int architecture) {
  static const int here = 0;
  const sdk::CodeFile file(sdk::find_code_folder(sdk::setting("CUDA_CACHE"), "cuda"), "cuda",
                           sdk::join("NVRTC ", nvrtc_version(), " sm_", architecture, "\n",
                                     sdk::build_of_library(&here), "\n", source));
  std::string note;
  if (std::optional<std::string> kept = file.read(note)) return {*std::move(kept), {}};
  Compiled made = compile_cuda(source, architecture);
  if (made.code.empty()) return made;
  const std::string fault = file.write(made.code);  // also in place of one not used
  if (note.empty()) note = fault;
  if (!note.empty()) sdk::log(TN_LOG_WARNING, "cuda: " + note);
  return made;
}

std::shared_ptr<LoadedProgram> make(int index, const lp::Program& program) {
  auto made = std::make_shared<LoadedProgram>();
  try {
    made->printed = lp::print_c(program, lp::cuda_c());
  } catch (const lp::NotPrinted&) {
    return made;
  }
  const cudaDeviceProp& props = gpu(index).props;
  const Compiled compiled = compile_or_read(made->printed.source, props.major * 10 + props.minor);
  if (compiled.code.empty())
    leave(compiled.why);
  else
    load(*made, compiled.code, index);
  return made;
}

// Unloads what nobody holds, neither a call, nor a graph, nor the device's queue.
void make_room(Programs& p, int index) {
  std::vector<std::shared_ptr<LoadedProgram>> unused;
  std::vector<Key> keys;
  for (const auto& [key, it] : p.loaded) {
    if (key.first != index || it.use_count() > 1 || it->captured) continue;
    unused.push_back(it);
    keys.push_back(key);
  }
  std::atomic_thread_fence(std::memory_order_acquire);  // with the last release of each
  if (unused.empty() || !wait_outside_captures(index)) return;
  for (const Key& it : keys) p.loaded.erase(it);
}

std::size_t count_of(const Programs& p, int index) {
  const auto begin = p.loaded.lower_bound({index, ""}), end = p.loaded.lower_bound({index + 1, ""});
  return static_cast<std::size_t>(std::distance(begin, end));
}

}  // namespace

void start_programs() {
  std::size_t n = kMaxPrograms;
  if (const auto text = sdk::setting("CUDA_PROGRAMS")) {
    const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), n);
    if (fault != std::errc() || end != text->data() + text->size()) {
      n = kMaxPrograms;
      sdk::log(TN_LOG_WARNING,
               sdk::join("TENON_CUDA_PROGRAMS=", *text, " is not an integer from 0; using ", n));
    }
  }
  g_max_programs.store(n, std::memory_order_relaxed);
}

LoadedProgram::~LoadedProgram() {
  if (library && runtime_loader()->unload(library) != cudaSuccess) (void)cudaGetLastError();
}

std::shared_ptr<LoadedProgram> find_program(int index, std::string_view text,
                                            const lp::Program& program) {
  Programs& p = programs();
  const Key key{index, std::string(text)};
  {
    const std::lock_guard<std::mutex> hold(p.lock);
    const auto at = p.loaded.find(key);
    if (at != p.loaded.end()) return at->second;
  }
  const std::size_t most = g_max_programs.load(std::memory_order_relaxed);
  if (most == 0 || !runtime_loader() || !nvrtc_found()) return nullptr;
  const UncapturedGuard uncaptured;
  // Of two threads that miss at once, both compile; one result is kept.
  std::shared_ptr<LoadedProgram> made = make(index, program);
  const std::lock_guard<std::mutex> hold(p.lock);
  if (count_of(p, index) >= most) make_room(p, index);
  return p.loaded.emplace(key, std::move(made)).first->second;
}

void stop_programs() {
  Programs& p = programs();
  for (int i = 0; i < count() && !p.loaded.empty() && !forked(); ++i) {
    if (!gpu(i).used || gpu(i).dead) continue;
    const ReleaseGuard on(i);
    (void)cudaDeviceSynchronize();
  }
  for (auto& [key, it] : p.loaded)
    if (forked()) it->library = nullptr;
  p.loaded.clear();
}

}  // namespace tenon::cuda
