// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What plugin_cuda/runtime leaves to a plugin: whose streams kernels run on. Here the device's, asked for by its table.
#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {

cudaStream_t native(int index, const tn_stream* stream) {
  int32_t type = 0;
  const tn_device_api* api = sdk::host().get_device_api({"cuda", 4}, &type);
  if (api == nullptr || api->native_stream == nullptr)
    throw sdk::Error(TN_ERROR_BACKEND,
                     "device cuda names no streams of CUDA; its plugin is another one than libtenon_cuda.so");
  void* there = api->native_stream(api->context, index, const_cast<tn_stream*>(stream));
  if (there != nullptr) return static_cast<cudaStream_t>(there);
  const tn_str why = api->last_error != nullptr ? api->last_error(api->context) : tn_str{nullptr, 0};
  throw sdk::Error(TN_ERROR_BACKEND, "the stream of device cuda:", index,
                   " cannot be had: ", std::string_view(why.ptr == nullptr ? "" : why.ptr, why.len));
}

}  // namespace tenon::cuda
