// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The streams that kernels run on, which plugin_cuda/runtime leaves to a plugin: here those of the
// device's table.
#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {

cudaStream_t native(int index, const tn_stream* stream) {
  int32_t type = 0;
  const tn_device_api* api = sdk::host().get_device_api({"cuda", 4}, &type);
  if (api == nullptr || api->native_stream == nullptr)
    throw sdk::Error(TN_ERROR_BACKEND,
                     "device cuda has no native CUDA streams; its plugin is not libtenon_cuda.so");
  void* stream_of_device = api->native_stream(api->context, index, const_cast<tn_stream*>(stream));
  if (stream_of_device != nullptr) return static_cast<cudaStream_t>(stream_of_device);
  const tn_str why =
      api->last_error != nullptr ? api->last_error(api->context) : tn_str{nullptr, 0};
  throw sdk::Error(TN_ERROR_BACKEND, "the stream of device cuda:", index, " is not available: ",
                   std::string_view(why.ptr == nullptr ? "" : why.ptr, why.len));
}

}  // namespace tenon::cuda
