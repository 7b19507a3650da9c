/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A dtype of a plugin's own. */
#ifndef TENON_ABI_EXT_DTYPE_H_
#define TENON_ABI_EXT_DTYPE_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chained into tn_plugin.ext with id TN_EXT_DTYPE, one node a dtype. Where no kernel names the dtype, an op whose row
 * takes its class works on float32 (int64 for the class integral) and core converts there and back: on the host, so a
 * device whose kernels should have it brings a kernel of the row `copy` for it. */
typedef struct tn_ext_dtype {
  tn_ext head;
  tn_str name;
  tn_str dtype_class; /* floating, integral, bool */
  uint32_t size;      /* bytes of an element, 1 to 31 */
  uint32_t rank;      /* place among the dtypes of its class, of which a built-in one has its width in bits: the higher
                         one wins a promotion */
  /* n elements, from the host's memory to the host's memory. float is exact for what the dtype holds, or rounds. */
  void (*to_float)(const void* src, float* dst, int64_t n);
  void (*from_float)(const float* src, void* dst, int64_t n);
} tn_ext_dtype;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_DTYPE_H_ */
