// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the fake cuDNN.
#pragma once

#include <cudnn.h>

#include <vector>

#include "control.h"

struct cudnnContext {
  cudaStream_t stream;
};

#define BEGIN() \
  if (tenon_fake_call("cudnn") != 0) return CUDNN_STATUS_INTERNAL_ERROR

namespace tenon::fake {

// Enqueues work on the handle's stream.
template <class W>
cudnnStatus_t enqueue(cudnnHandle_t handle, W work) {
  const int status = tenon_fake_enqueue_owned(
      handle->stream, [](void* p) { (*static_cast<W*>(p))(); },
      [](void* p) { delete static_cast<W*>(p); }, new W(std::move(work)));
  return status == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

struct PlainTensor {
  cudnnDataType_t type;
  std::vector<int> dims;
};
inline PlainTensor& as(cudnnTensorDescriptor_t d) { return *reinterpret_cast<PlainTensor*>(d); }

}  // namespace tenon::fake
