/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A layout other than strided: registered by name, made of strided components. */
#ifndef TENON_ABI_EXT_LAYOUT_H_
#define TENON_ABI_EXT_LAYOUT_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chained into tn_plugin.ext with id TN_EXT_LAYOUT, one node per layout. The `data` of a tensor of
 * the layout points to its components, strided tensors in the order of `components`. The last one
 * holds the values and has the tensor's dtype; the others hold their positions. Core copies, moves,
 * casts and prints such tensors component by component. Kernels that name the layout
 * (tn_kernel.layouts) do the rest; those of _to_dense and _to_layout convert to strided and from
 * it. */
typedef struct tn_ext_layout {
  tn_ext head;
  tn_str name;       /* "sparse_coo" */
  tn_str components; /* "indices,values": 1 to 4 names */
  /* names of up to 16 flags of a tensor, "coalesced": bits of tn_tensor.flags from TN_LAYOUT_FLAG
   * on */
  tn_str flags;
  /* Infers the results of each call with a tensor of this layout, before a kernel is selected.
   * outputs[i] and sizes[i] hold what the operator's definition says of result i: ndim, sizes,
   * dtype, and layout TN_STRIDED; if it leaves this to the layout (`infer layout`), ndim is -1. The
   * callback changes what differs: ndim, sizes, dtype, layout, and flags of the layout.
   * TN_DECLINED: it has no rule for this operator. Absent: every result is strided. */
  tn_status (*infer)(tn_call* call, tn_str op, tn_tensor* outputs, int64_t (*sizes)[64]);
} tn_ext_layout;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_LAYOUT_H_ */
