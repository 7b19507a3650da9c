/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A layout other than strided: registered by name, made of strided components. */
#ifndef TENON_ABI_EXT_LAYOUT_H_
#define TENON_ABI_EXT_LAYOUT_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chained into tn_plugin.ext with id TN_EXT_LAYOUT, one node a layout. A tensor of the layout has data pointing to
 * n_components tn_tensors, in the order of `components`. */
typedef struct tn_ext_layout {
  tn_ext head;
  tn_str name;                              /* "sparse_coo" */
  tn_str components;                        /* "indices,values" */
  tn_str flags;                             /* names of the bits of a per-tensor flag word: "coalesced" */
  tn_status (*to_strided)(tn_call* call);   /* in: one tensor of the layout; out: one strided tensor */
  tn_status (*from_strided)(tn_call* call); /* in: one strided tensor; out: components by alloc_component */
  tn_status (*clone)(tn_call* call);
  tn_status (*infer)(tn_call* call, tn_tensor* outputs, int64_t (*sizes)[64]); /* rows that say `infer layout` */
} tn_ext_layout;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_LAYOUT_H_ */
