// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The runtime's functions that load code, looked up by name: the first runtimes of CUDA 12 do not
// have them, and the plugin loads over those, too.
#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace tenon::cuda {

// Handles of a library and of a kernel; cudaLaunchKernel takes the latter for a function.
using LibraryHandle = void*;
using KernelHandle = void*;

// As in cuda_runtime_api.h: cudaLibraryLoadData and so on. The options are not used.
struct RuntimeLoader {
  cudaError_t (*load)(LibraryHandle*, const void* code, void*, void**, unsigned, void*, void**,
                      unsigned);
  cudaError_t (*kernel)(KernelHandle*, LibraryHandle, const char* name);
  cudaError_t (*unload)(LibraryHandle);
};

// Null if the runtime is too old: the kernel declines then.
const RuntimeLoader* runtime_loader();

template <class F>
bool find_function(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

}  // namespace tenon::cuda
