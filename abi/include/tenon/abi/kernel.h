/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The one signature of every operator kernel, and the record that describes a kernel.
 *
 * Every kernel is called in its out form: core supplies the outputs with final shapes, strides and
 * dtypes, and the kernel writes all of their elements. Threads: core may run a kernel from any
 * thread, and from several at once. */
#ifndef TENON_ABI_KERNEL_H_
#define TENON_ABI_KERNEL_H_

#include "tenon/abi/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_stream
    tn_stream; /* opaque, defined by the device; null on a synchronous device */

/* Reachable from the device, one per stream; core reads it at the next synchronization and raises.
 * `index` and `limit` depend on the code: with TN_ERROR_INDEX, index is out of bounds for a size of
 * limit; with TN_ERROR_VALUE, the scalar index is outside of [0, limit) (limit 0: no range is
 * known); with TN_ERROR and a limit of -1, the integer index was divided by zero. With other codes
 * they mean nothing. */
typedef struct tn_error_word {
  int32_t code; /* 0: none; else a tn_status */
  int32_t op;   /* tn_call.op of the call that failed first */
  int64_t index;
  int64_t limit;
} tn_error_word;

enum {
  TN_CALL_CAPTURING = 1u << 0,     /* a graph is being captured: no host blocking */
  TN_CALL_DETERMINISTIC = 1u << 1, /* decline if the result's bits would vary from run to run */
  TN_CALL_DRY_RUN = 1u << 2,       /* only return TN_OK or TN_DECLINED; touch no data */
  /* Saves a kernel its checks: every tensor is contiguous, all are on one device, the arguments
     have one dtype, the outputs one shape, and each argument has that shape or its last dimensions,
     so that its elements repeat. Where it is unset all of this may hold, too. */
  TN_CALL_UNIFORM = 1u << 3
};

typedef struct tn_call {
  size_t struct_size;
  uint32_t n_in;
  uint32_t n_out;
  const tn_value* in; /* in schema order */
  tn_value* out;      /* TENSOR, TENSOR_LIST, or NONE for an output that output_mask excludes */
  tn_stream* stream;
  /* as many bytes as the kernel's workspace() asked for, 64-byte aligned, device memory */
  void* workspace;
  uint64_t workspace_bytes;
  void* state; /* tn_kernel.state */
  tn_error_word* device_error;
  void* context; /* opaque, owned by core; host services read it */
  uint64_t correlation;
  uint32_t flags;
  int32_t op;
} tn_call;

typedef tn_status (*tn_kernel_fn)(tn_call* call);

enum {
  TN_KERNEL_ANY_STRIDES = 1u << 0,  /* else every tensor arrives row-major contiguous */
  TN_KERNEL_MIXED_DTYPES = 1u << 1, /* operands are not cast to one dtype first */
  TN_KERNEL_CAPTURE_SAFE = 1u << 2,
  TN_KERNEL_DYNAMIC = 1u << 3,       /* sizes its outputs with tn_host.alloc_out */
  TN_KERNEL_HOST_BLOCKING = 1u << 4, /* waits for the device */
  TN_KERNEL_NONDETERMINISTIC = 1u << 5,
  TN_KERNEL_BROADCASTS = 1u << 6 /* inputs need not be expanded to the output's shape */
};

/* Static and constant; core keeps pointers into it for as long as the plugin is registered. */
typedef struct tn_kernel {
  size_t struct_size;
  uint32_t flags;
  int32_t
      priority; /* of several kernels for a call the highest is tried first; 0 for ordinary ones */
  tn_str op;    /* "name" or "name.overload" */
  uint8_t digest[32]; /* of the schema it was written against (tenon/sdk/ops/<name>.h) */
  tn_str dtypes;      /* comma-separated names or classes (all, number, floating, integral, bool) */
  /* Empty: every tensor is strided. Else one name per tensor argument in schema order, of which the
   * last holds for all that follow: "sparse_coo,strided"; "a|b" accepts either. */
  tn_str layouts;
  tn_str inplace; /* "0=0,0=1": output 0 may be the memory of argument 0 or 1 */
  tn_kernel_fn run;
  tn_status (*workspace)(tn_call* call, uint64_t* bytes); /* optional: absent means none */
  tn_status (*supports)(const tn_call* call); /* optional; no side effects; TN_OK or TN_DECLINED */
  void* state;
} tn_kernel;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_KERNEL_H_ */
