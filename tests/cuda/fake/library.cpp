// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Libraries of kernels that the fake NVRTC compiled for the host.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "engine.h"

using namespace tenon::fake;

#define ENTER()                                              \
  std::lock_guard<std::recursive_mutex> hold_(state().lock); \
  const cudaError_t entered_ = enter(__func__);
#define BEGIN() ENTER() if (entered_ != cudaSuccess) return entered_

// Functions of tests/cuda/fake/kernel_on_host.h.
struct CUkern_st {
  std::shared_ptr<void> code;  // also held by launches that have not run and by graphs
  void* (*copy)(void**);
  void (*run)(void*, unsigned, unsigned);
  void (*drop)(void*);
};
struct CUlib_st {
  std::shared_ptr<void> code;
  std::map<std::string, CUkern_st> kernels;
};

namespace {

std::set<const void*>& kernels() {
  static auto& all = *new std::set<const void*>;
  return all;
}

constexpr char kMagic[] = "tenon fake cubin ";

// Null if it is not what the fake NVRTC made.
std::shared_ptr<void> open_code(const char* code) {
  if (std::strncmp(code, kMagic, sizeof kMagic - 1) != 0) return nullptr;
  char* begin = nullptr;
  const std::size_t bytes = std::strtoull(code + sizeof kMagic - 1, &begin, 10);
  std::string name = (std::filesystem::temp_directory_path() / "tenon_cubin_XXXXXX").string();
  const int fd = mkstemp(name.data());
  if (fd < 0) return nullptr;
  const bool written = write(fd, begin + 1, bytes) == static_cast<ssize_t>(bytes);
  void* const library = written ? dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  close(fd);
  unlink(name.c_str());
  return library ? std::shared_ptr<void>(library, [](void* p) { dlclose(p); }) : nullptr;
}

template <class F>
bool find(void* code, const std::string& name, F& out) {
  out = reinterpret_cast<F>(dlsym(code, name.c_str()));
  return out != nullptr;
}

}  // namespace

namespace tenon::fake {

bool is_of_library(const void* kernel) { return kernels().count(kernel) > 0; }

cudaError_t launch_of_library(const cudaLaunchConfig_t& config, const void* kernel, void** args) {
  const auto& k = *static_cast<const CUkern_st*>(kernel);
  const auto code = k.code;
  const std::shared_ptr<void> copied(k.copy(args), [code, drop = k.drop](void* p) { drop(p); });
  return enqueue(config.stream, [copied, run = k.run, grid = config.gridDim.x,
                                 block = config.blockDim.x] { run(copied.get(), grid, block); });
}

}  // namespace tenon::fake

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* out, const void* code, cudaJitOption*, void**,
                                unsigned, cudaLibraryOption*, void**, unsigned) {
  BEGIN();
  if (forbidden()) return fail(cudaErrorStreamCaptureUnsupported);
  std::shared_ptr<void> opened = open_code(static_cast<const char*>(code));
  if (!opened) return fail(cudaErrorInvalidKernelImage);
  *out = new CUlib_st{std::move(opened), {}};
  ++state().handles;
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* out, cudaLibrary_t library, const char* name) {
  BEGIN();
  CUkern_st kernel{library->code, nullptr, nullptr, nullptr};
  const std::string f(name);
  if (!find(library->code.get(), f + "_copy", kernel.copy) ||
      !find(library->code.get(), f + "_run", kernel.run) ||
      !find(library->code.get(), f + "_drop", kernel.drop))
    return fail(cudaErrorSymbolNotFound);
  *out = &(library->kernels[f] = kernel);
  kernels().insert(*out);
  return cudaSuccess;
}
// Of a library whose kernels a stream or a graph will run nothing good may be expected.
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  ENTER();
  if (forbidden()) return fail(cudaErrorStreamCaptureUnsupported);
  for (const auto& [name, kernel] : library->kernels) kernels().erase(&kernel);
  library->kernels.clear();
  if (library->code.use_count() > 1)
    std::fprintf(stderr, "cudaLibraryUnload: its kernels are queued\n"), std::abort();
  delete library;
  --state().handles;
  return entered_;
}
}
