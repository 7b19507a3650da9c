/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A kernel that is right: relu of contiguous float32. */
#include "tenon/abi/plugin.h"
#include "tenon/sdk/ops/relu.h"

static tn_status relu(tn_call* call) {
  const tn_tensor *in = call->in[0].u.tensor, *out = call->out[0].u.tensor;
  const float* from = (const float*)((const char*)in->data + in->byte_offset);
  float* to = (float*)((char*)out->data + out->byte_offset);
  int64_t n = 1;
  for (int32_t d = 0; d < in->ndim; ++d) n *= in->sizes[d];
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] > 0 ? from[i] : 0;
  return TN_OK;
}

#define TOY_RELU(PRIORITY)                                                                  \
  {                                                                                         \
    sizeof(tn_kernel), 0, PRIORITY, {"relu", 4}, TN_OP_relu_DIGEST, {"float32", 7}, {0, 0}, \
        {0, 0}, relu, 0, 0, 0                                                               \
  }
