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

/* An op of a plugin's own, given to register_op from the plugin's init. It is called by its name, from C++ with
 * tenon::call, and its kernels name it like any other; their digest may be all zeros. */
typedef struct tn_schema {
  size_t struct_size;
  tn_str text; /* "vendor::name.overload(Tensor self, ...) -> Tensor", as in ops; results are tensors */
  /* Sets ndim and dtype of each of outputs[], and sizes[i]; they arrive as those of the first tensor argument. An
   * error is raised with the text of set_error, before any kernel runs. Null: kernels size the outputs (alloc_out). */
  tn_status (*infer)(tn_call* call, tn_tensor* outputs, int64_t (*sizes)[64]);
  /* Name of the op that computes the gradients; empty: not differentiable. Its arguments are the gradients of the
   * outputs (Tensor, zeros where there is none), then the arguments in saved_in, then the outputs in saved_out; its
   * results are the gradients of the arguments that are one tensor each, in their order. */
  tn_str backward;
  uint64_t saved_in;  /* bit i: argument i is handed to the backward op */
  uint64_t saved_out; /* bit i: output i is */
  /* Of an op whose results have a layout of their own: its name, and that layout's infer rules in place of this one. */
  tn_str layout;
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
  /* Makes component `component` of output i, which has a layout of its own. Each component once. */
  tn_status (*alloc_component)(tn_call* call, uint32_t i, uint32_t component, int32_t ndim, const int64_t* sizes,
                               tn_dtype dtype);
  /* From a plugin's init only. TN_ERROR_VALUE, with a line in the log: no schema, or one that differs from the op of
   * this name that exists. */
  tn_status (*register_op)(const tn_schema* schema);
  /* Looks up a setting: the environment variable TENON_<NAME> unless the process runs with raised privileges. */
  tn_status (*get_setting)(tn_str name, tn_str* value);
  /* Makes component `component` of output i, or output i itself if its op sizes its outputs (TN_KERNEL_DYNAMIC), a
   * handle on elements that exist: those of an argument, of a component of one, or of a result of call_op. */
  tn_status (*share_component)(tn_call* call, uint32_t i, uint32_t component, const tn_tensor* tensor);
  /* Facts about output i (TN_LAYOUT_FLAG), in place of those that its layout's infer gave it. */
  tn_status (*set_layout_flags)(tn_call* call, uint32_t i, uint32_t flags);
} tn_host;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_HOST_H_ */
