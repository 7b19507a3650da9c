/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Nothing is wrong with it: a plugin of the host with a dtype and an op of its own, whose names are
 * unknown before it is open, and a kernel for that dtype. */
#define PLUGIN_NAME "host_dtype"
#define PLUGIN_DEVICE "cpu"
#define PLUGIN_API 0
#define PLUGIN_FLAGS TN_PLUGIN_HOST_MEMORY
#define PLUGIN_INIT start
#define PLUGIN_EXT &quarter.head
#define PLUGIN_KERNELS kernels, kernels + 1

#include "tenon/abi/ext/dtype.h"
#include "tenon/abi/plugin.h"
#include "tenon/sdk/ops/relu.h"

static void to_float(const void* src, float* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = (float)((const int8_t*)src)[i] / 4;
}
static void from_float(const float* src, void* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) ((int8_t*)dst)[i] = (int8_t)(src[i] * 4);
}
static const tn_ext_dtype quarter = {{sizeof(tn_ext_dtype), TN_EXT_DTYPE, 0, 0},
                                     {"quarter8", 8},
                                     {"floating", 8},
                                     1,
                                     8,
                                     to_float,
                                     from_float};

static tn_status run(tn_call* call) {
  (void)call;
  return TN_DECLINED;
}
static const tn_kernel relu = {sizeof(tn_kernel),
                               0,
                               7,
                               {"relu", 4},
                               TN_OP_relu_DIGEST,
                               {"quarter8", 8},
                               {0, 0},
                               {"0=0", 3},
                               run,
                               0,
                               0,
                               0};
static const tn_kernel* const kernels[1] = {&relu};

static tn_status same_shape(tn_call* call, tn_tensor* outputs, int64_t (*sizes)[64]) {
  (void)call, (void)outputs, (void)sizes;
  return TN_OK;
}
static tn_status start(const tn_host* host, tn_str* why) {
  static const char text[] = "acme::quarter(Tensor self) -> Tensor";
  const tn_schema schema = {sizeof schema, {text, sizeof text - 1}, same_shape, {0, 0}, 0, 0,
                            {0, 0}};
  (void)why;
  return host->register_op(&schema);
}
#include "toy.h"
