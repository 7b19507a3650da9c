/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A custom dtype. */
#ifndef TENON_ABI_EXT_DTYPE_H_
#define TENON_ABI_EXT_DTYPE_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chained into tn_plugin.ext with id TN_EXT_DTYPE, one node per dtype. Where no kernel names the
 * dtype, an operator that accepts its class computes in float32 (int64 for the class integral), and
 * core converts the operands and the result. It does so on the host, unless the device has a kernel
 * of `copy` for the dtype. */
typedef struct tn_ext_dtype {
  tn_ext head;
  tn_str name;
  tn_str dtype_class; /* floating, integral, bool */
  uint32_t size;      /* bytes of an element, 1 to 31 */
  /* order of promotion in its class: the higher one wins. A built-in dtype has its width in bits */
  uint32_t rank;
  /* Converts n elements, from host memory to host memory. A value that the target cannot hold is
   * rounded. */
  void (*to_float)(const void* src, float* dst, int64_t n);
  void (*from_float)(const float* src, void* dst, int64_t n);
} tn_ext_dtype;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_DTYPE_H_ */
