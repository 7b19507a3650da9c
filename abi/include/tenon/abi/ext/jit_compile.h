/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Compiling source text for the device at run time. */
#ifndef TENON_ABI_EXT_JIT_COMPILE_H_
#define TENON_ABI_EXT_JIT_COMPILE_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_module tn_module;
typedef struct tn_ext_jit_compile {
  tn_ext head;
  tn_str language; /* "cuda", "opencl", "llvm" */
  tn_status (*compile)(void* context, int32_t index, tn_str source, tn_str options, tn_module** out,
                       tn_str* log);
  tn_status (*launch)(void* context, int32_t index, tn_module* module, tn_str kernel,
                      const uint32_t grid[3], const uint32_t block[3], const tn_value* args,
                      uint32_t n_args, tn_stream* stream);
  void (*destroy)(void* context, int32_t index, tn_module* module);
} tn_ext_jit_compile;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_JIT_COMPILE_H_ */
