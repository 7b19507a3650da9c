/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A dtype of a plugin's own. */
#ifndef TENON_ABI_EXT_DTYPE_H_
#define TENON_ABI_EXT_DTYPE_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chained with id TN_EXT_DTYPE. Ops whose row takes `dtype_class` work on it by casting through float32. */
typedef struct tn_ext_dtype {
  tn_ext head;
  tn_str name;
  tn_str dtype_class; /* floating, integral, bool */
  uint32_t size;      /* bytes */
  uint32_t rank;      /* place among the dtypes of its class: the higher one wins a promotion */
  void (*to_float)(const void* src, float* dst, int64_t n);
  void (*from_float)(const float* src, void* dst, int64_t n);
} tn_ext_dtype;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_DTYPE_H_ */
