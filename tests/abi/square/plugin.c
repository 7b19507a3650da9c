/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The plugin of the square: a device over malloc with four kernels that use what the ABI has
 * (lists, optional arguments, sized outputs, workspace, calls back into core). Kept as a binary of
 * each minor; so this source must also compile against the headers of each. */
#include "tenon/abi/plugin.h"

#include "../../malloc_device.h"
#include "tenon/sdk/ops/add.h"
#include "tenon/sdk/ops/cat.h"
#include "tenon/sdk/ops/neg.h"
#include "tenon/sdk/ops/nonzero.h"
#include "tenon/sdk/ops/relu.h"

#define STR(s) \
  { s, sizeof(s) - 1 }

static const tn_host* core;

static float* floats(const tn_tensor* t) { return (float*)((char*)t->data + t->byte_offset); }
static int64_t numel(const tn_tensor* t) {
  int64_t n = 1;
  for (int32_t d = 0; d < t->ndim; ++d) n *= t->sizes[d];
  return n;
}

struct span {
  const float* in;
  float* out;
};
static void relu_body(void* arg, int64_t begin, int64_t end) {
  const struct span* s = (const struct span*)arg;
  for (int64_t i = begin; i < end; ++i) s->out[i] = s->in[i] > 0 ? s->in[i] : 0;
}
static tn_status relu(tn_call* call) {
  struct span s = {floats(call->in[0].u.tensor), floats(call->out[0].u.tensor)};
  core->parallel_for(numel(call->in[0].u.tensor), 2, relu_body, &s);
  return TN_OK;
}

static tn_status add(tn_call* call) {
  const float *a = floats(call->in[0].u.tensor), *b = floats(call->in[1].u.tensor);
  float* out = floats(call->out[0].u.tensor);
  const tn_value* alpha = &call->in[2];
  double by = alpha->tag == TN_TAG_I64   ? (double)alpha->u.i64
              : alpha->tag == TN_TAG_F64 ? alpha->u.f64
                                         : 1.0;
  if (by == 666) {
    core->set_error(call, (tn_str)STR("666 is the number of the beast"));
    return TN_ERROR_VALUE;
  }
  for (int64_t i = 0; i < numel(call->out[0].u.tensor); ++i) out[i] = a[i] + (float)by * b[i];
  return TN_OK;
}

/* Along dimension 0 only; the pieces are gathered in the workspace first. */
static tn_status cat_bytes(tn_call* call, uint64_t* bytes) {
  *bytes = (uint64_t)numel(call->out[0].u.tensor) * sizeof(float);
  return TN_OK;
}
static tn_status cat_supports(const tn_call* call) {
  return call->in[1].tag == TN_TAG_I64 && call->in[1].u.i64 == 0 ? TN_OK : TN_DECLINED;
}
static tn_status cat(tn_call* call) {
  const tn_value* list = &call->in[0];
  float* at = (float*)call->workspace;
  if (call->workspace_bytes < (uint64_t)numel(call->out[0].u.tensor) * sizeof(float))
    return TN_ERROR_MEMORY;
  for (uint32_t i = 0; i < list->len; ++i) {
    memcpy(at, floats(list->u.tensors[i]), (size_t)numel(list->u.tensors[i]) * sizeof(float));
    at += numel(list->u.tensors[i]);
  }
  memcpy(floats(call->out[0].u.tensor), call->workspace,
         (size_t)numel(call->out[0].u.tensor) * sizeof(float));
  return TN_OK;
}

/* Of a vector. */
static tn_status nonzero(tn_call* call) {
  const tn_tensor* in = call->in[0].u.tensor;
  const tn_dtype i64 = {TN_INT, 64, 1};
  int64_t sizes[2] = {0, 1}, n = numel(in), at = 0;
  for (int64_t i = 0; i < n; ++i) sizes[0] += floats(in)[i] != 0;
  tn_status status = core->alloc_out(call, 0, 2, sizes, i64);
  if (status != TN_OK) return status;
  int64_t* out = (int64_t*)floats(call->out[0].u.tensor);
  for (int64_t i = 0; i < n; ++i) {
    if (floats(in)[i] != 0) out[at++] = i;
  }
  return TN_OK;
}

/* By a call back into core: 0 - x is add(x, x, alpha = -2). */
static tn_status neg(tn_call* call) {
  tn_value in[3], out;
  in[0] = in[1] = call->in[0];
  in[2].tag = TN_TAG_I64;
  in[2].len = 0;
  in[2].u.i64 = -2;
  tn_status status = core->call_op(call, (tn_str)STR("add.Tensor"), in, 3, &out, 1);
  if (status != TN_OK) return status;
  memcpy(floats(call->out[0].u.tensor), floats(out.u.tensor),
         (size_t)numel(out.u.tensor) * sizeof(float));
  core->release(&out);
  return TN_OK;
}

#define KERNEL(name, op_name, run, flags, workspace, supports)                \
  static const tn_kernel name##_kernel = {                                    \
      sizeof(tn_kernel), flags,  0,      STR(op_name), TN_OP_##name##_DIGEST, \
      STR("float32"),    {0, 0}, {0, 0}, run,          workspace,             \
      supports,          0}
KERNEL(relu, "relu", relu, 0, 0, 0);
KERNEL(add_Tensor, "add.Tensor", add, 0, 0, 0);
KERNEL(cat, "cat", cat, 0, cat_bytes, cat_supports);
KERNEL(nonzero, "nonzero", nonzero, TN_KERNEL_DYNAMIC, 0, 0);
KERNEL(neg, "neg", neg, 0, 0, 0);
static const tn_kernel* const kernels[] = {&relu_kernel, &add_Tensor_kernel, &cat_kernel,
                                           &nonzero_kernel, &neg_kernel};

static tn_status props(void* context, int32_t index, tn_device_props* out) {
  (void)context, (void)index;
  return fill_props(out, "square", 64);
}
static tn_status alloc(void* context, int32_t index, uint64_t bytes, tn_stream* stream,
                       void** handle) {
  (void)context, (void)index, (void)stream;
  *handle = aligned_alloc(64, bytes / 64 * 64 + 64);
  return *handle ? TN_OK : TN_ERROR_MEMORY;
}
static tn_str last_error(void* context) {
  (void)context;
  return (tn_str)STR("nothing failed");
}
static const tn_device_api api = {.struct_size = sizeof(tn_device_api),
                                  .count = count,
                                  .props = props,
                                  .alloc = alloc,
                                  .free = release,
                                  .copy = copy,
                                  .sync = wait_for,
                                  .last_error = last_error};

static tn_status start(const tn_host* host, tn_str* why) {
  (void)why;
  core = host;
  if (!TN_HAS(host, tn_host, get_setting) || host->num_threads() < 1) return TN_ERROR;
#if TN_ABI_MINOR >= \
    1 /* the test's own minor: a core that has not got that far is met with what there is */
  if (TN_HAS(host, tn_host, answer) && host->answer && host->answer() != 42) return TN_ERROR;
#if TN_ABI_TARGET_MINOR >= 1
  if (!TN_HAS(host, tn_host, answer) || !host->answer) return TN_ERROR;
#endif
#endif
  host->log(TN_LOG_DEBUG, (tn_str)STR("the square has started"));
  return TN_OK;
}
static void stop(void) { core = 0; }
static tn_str describe(void) { return (tn_str)STR("a plugin that was built once"); }
#if TN_ABI_MINOR >= 1
static tn_str motto(void) { return (tn_str)STR("append only"); }
#endif

static const tn_ext unknown = {sizeof(tn_ext), 0xfff00001u, 3, 0};
static const tn_plugin plugin = {.struct_size = sizeof(tn_plugin),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_target_minor = TN_ABI_TARGET_MINOR,
                                 .flags = TN_PLUGIN_UNLOADABLE,
                                 .kernel_stride = sizeof(tn_kernel),
                                 .name = STR("square"),
                                 .version = STR("1.0"),
                                 .vendor = STR("Tenon tests"),
                                 .device = STR("square"),
                                 .ext = &unknown,
                                 .device_api = &api,
                                 .kernels = kernels,
                                 .kernels_end = kernels + sizeof kernels / sizeof kernels[0],
                                 .init = start,
                                 .shutdown = stop,
#if TN_ABI_MINOR >= 1
                                 .motto = motto,
#endif
                                 .describe = describe};

__attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void) { return &plugin; }
