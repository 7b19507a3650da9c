/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Services that core gives a plugin. The table outlives the plugin. Filled by core. */
#ifndef TENON_ABI_HOST_H_
#define TENON_ABI_HOST_H_

#include "tenon/abi/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_LOG_DEBUG = 0, TN_LOG_INFO = 1, TN_LOG_WARNING = 2, TN_LOG_ERROR = 3 };

typedef struct tn_schema {
  size_t struct_size;
  tn_str text; /* "vendor::name.overload(Tensor self, ...) -> Tensor" */
  /* Sets the shape and dtype of each output: sizes/ndim/dtype/device of the tn_tensor behind out[i]. */
  tn_status (*infer)(tn_call* call, tn_tensor* outputs, int64_t (*sizes)[64]);
  tn_str backward;    /* name of the op that computes the gradient; empty: not differentiable */
  uint64_t saved_in;  /* bit i: argument i is handed to the backward op */
  uint64_t saved_out; /* bit i: output i is */
} tn_schema;

typedef struct tn_host {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;

  /* Text for the status that the kernel is about to return. The text is copied. */
  void (*set_error)(tn_call* call, tn_str text);
  void (*log)(int32_t level, tn_str text);
  /* For kernels with TN_KERNEL_DYNAMIC: sizes output i and fills call->out[i]; once an output, calling thread only. */
  tn_status (*alloc_out)(tn_call* call, uint32_t i, int32_t ndim, const int64_t* sizes, tn_dtype dtype);
  /* Runs body(arg, begin, end) over [0, n) in blocks of at most `grain`. Blocks depend on n and grain alone, never on
   * the number of threads. Returns when all are done. May be nested: an inner call runs on its own thread. */
  void (*parallel_for)(int64_t n, int64_t grain, void (*body)(void* arg, int64_t begin, int64_t end), void* arg);
  int32_t (*num_threads)(void);
  const tn_ext* (*get_ext)(uint32_t id);
  /* Calls a registered op. in[] as in its schema; out[i] receives tensors that the caller releases with `release`. */
  tn_status (*call_op)(tn_call* call, tn_str op, const tn_value* in, uint32_t n_in, tn_value* out, uint32_t n_out);
  void (*release)(tn_value* value);
  const tn_device_api* (*get_device_api)(tn_str name, int32_t* type);
  /* A new component of a result with a layout of its own. */
  tn_status (*alloc_component)(tn_call* call, uint32_t i, uint32_t component, int32_t ndim, const int64_t* sizes,
                               tn_dtype dtype);
  tn_status (*register_op)(const tn_schema* schema);
  /* Looks up a setting: the environment variable TENON_<NAME> unless the process runs with raised privileges. */
  tn_status (*get_setting)(tn_str name, tn_str* value);
} tn_host;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_HOST_H_ */
