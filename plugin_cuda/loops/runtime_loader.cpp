// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/loops/runtime_loader.h"

#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {
namespace {

// In the runtime that the plugin is linked with.
const RuntimeLoader* open_loader() {
  static RuntimeLoader found;
  void* runtime = dlopen(sdk::join("libcudart.so.", CUDART_VERSION / 1000).c_str(),
                         RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (runtime && find_function(runtime, "cudaLibraryLoadData", found.load) &&
      find_function(runtime, "cudaLibraryGetKernel", found.kernel) &&
      find_function(runtime, "cudaLibraryUnload", found.unload))
    return &found;
  sdk::log(TN_LOG_INFO,
           "cuda: loop programs run operator by operator: libcudart has no cudaLibraryLoadData");
  return nullptr;
}

}  // namespace

const RuntimeLoader* runtime_loader() {
  static const RuntimeLoader* const loader = open_loader();
  return loader;
}

}  // namespace tenon::cuda
