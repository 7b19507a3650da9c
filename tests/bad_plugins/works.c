/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Nothing is wrong with it, and it computes relu: used after a fault to check that core still
 * works. */
#ifndef PLUGIN_NAME
#define PLUGIN_NAME "works"
#endif
#ifndef PRIORITY
#define PRIORITY 0
#endif
/* With HALF_OLD it has a kernel for another schema, too. */
#ifdef HALF_OLD
#define PLUGIN_KERNELS kernels, kernels + 2
#else
#define PLUGIN_KERNELS kernels, kernels + 1
#endif
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
static const tn_kernel one = {sizeof(tn_kernel),
                              0,
                              PRIORITY,
                              {"relu", 4},
                              TN_OP_relu_DIGEST,
                              {"float32", 7},
                              {0, 0},
                              {0, 0},
                              relu,
                              0,
                              0,
                              0};
static const tn_kernel two = {
    sizeof(tn_kernel), 0, 0, {"neg", 3}, {1, 2, 3}, {"float32", 7}, {0, 0}, {0, 0}, relu, 0, 0, 0};
static const tn_kernel* const kernels[2] = {&one, &two};
#include "toy.h"
static const void* const unused __attribute__((unused)) = &api;
