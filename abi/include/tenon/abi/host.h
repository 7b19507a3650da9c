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

/* A custom operator, passed to register_op from the plugin's init. It is called by its name, from
 * C++ with tenon::call, and its kernels name it like any other; their digest may be all zeros. */
typedef struct tn_schema {
  size_t struct_size;
  /* "vendor::name.overload(Tensor self, ...) -> Tensor", as in ops; results are tensors */
  tn_str text;
  /* Sets ndim and dtype of each of outputs[], and sizes[i]; they arrive as those of the first
   * tensor argument. An error is raised with the text of set_error, before any kernel runs. Null:
   * kernels size the outputs (alloc_out). */
  tn_status (*infer)(tn_call* call, tn_tensor* outputs, int64_t (*sizes)[64]);
  /* Name of the operator that computes the gradients; empty: not differentiable. Its arguments are
   * the gradients of the outputs (Tensor, zeros where there is none), then the arguments in
   * saved_in, then the outputs in saved_out; its results are the gradients of the arguments that
   * are one tensor each, in their order. */
  tn_str backward;
  uint64_t saved_in;  /* bit i: argument i is passed to the backward operator */
  uint64_t saved_out; /* bit i: output i is passed to it */
  /* Set if the results have a layout other than strided: its name. That layout's infer then
   * replaces this one. */
  tn_str layout;
} tn_schema;

typedef struct tn_host {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;

  /* Text for the status that the kernel is about to return. The text is copied. */
  void (*set_error)(tn_call* call, tn_str text);
  void (*log)(int32_t level, tn_str text);
  /* For kernels with TN_KERNEL_DYNAMIC: sizes output i and fills call->out[i]; once per output,
   * calling thread only. */
  tn_status (*alloc_out)(tn_call* call, uint32_t i, int32_t ndim, const int64_t* sizes,
                         tn_dtype dtype);
  /* Runs body(arg, begin, end) over [0, n) in blocks of at most `grain`. Blocks depend on n and
   * grain alone, never on the number of threads. Returns when all are done. May be nested: an inner
   * call runs on the thread that makes it. */
  void (*parallel_for)(int64_t n, int64_t grain,
                       void (*body)(void* arg, int64_t begin, int64_t end), void* arg);
  int32_t (*num_threads)(void);
  const tn_ext* (*get_ext)(uint32_t id);
  /* Calls a registered operator. in[] as in its schema; out[i] receives tensors to be released with
   * `release`. */
  tn_status (*call_op)(tn_call* call, tn_str op, const tn_value* in, uint32_t n_in, tn_value* out,
                       uint32_t n_out);
  void (*release)(tn_value* value);
  const tn_device_api* (*get_device_api)(tn_str name, int32_t* type);
  /* Allocates component `component` of output i, whose layout is not strided. Once per component.
   */
  tn_status (*alloc_component)(tn_call* call, uint32_t i, uint32_t component, int32_t ndim,
                               const int64_t* sizes, tn_dtype dtype);
  /* From a plugin's init only. TN_ERROR_VALUE, with a line in the log: the text is not a valid
   * schema, or differs from that of the existing operator of this name. */
  tn_status (*register_op)(const tn_schema* schema);
  /* Looks up a setting: the environment variable TENON_<NAME> unless the process runs with raised
   * privileges. */
  tn_status (*get_setting)(tn_str name, tn_str* value);
  /* Makes component `component` of output i, or output i itself if its operator sizes its outputs
   * (TN_KERNEL_DYNAMIC), an alias of existing elements: those of an argument, of a component of
   * one, or of a result of call_op. */
  tn_status (*share_component)(tn_call* call, uint32_t i, uint32_t component,
                               const tn_tensor* tensor);
  /* Layout flags of output i (TN_LAYOUT_FLAG), in place of those that its layout's infer set. */
  tn_status (*set_layout_flags)(tn_call* call, uint32_t i, uint32_t flags);
} tn_host;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_HOST_H_ */
