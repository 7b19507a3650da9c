/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A layout other than strided: registered by name, made of strided components. */
#ifndef TENON_ABI_EXT_LAYOUT_H_
#define TENON_ABI_EXT_LAYOUT_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chained into tn_plugin.ext with id TN_EXT_LAYOUT, one node a layout. The `data` of a tensor of the layout points to
 * its components, strided tensors in the order of `components`. The last one holds the values and has the tensor's
 * dtype; the others say where they stand. Core copies, moves, casts and prints such tensors component by component.
 * All else is done by kernels that name the layout (tn_kernel.layouts), those of the rows _to_dense and _to_layout
 * among them, which convert to and from strided. */
typedef struct tn_ext_layout {
  tn_ext head;
  tn_str name;       /* "sparse_coo" */
  tn_str components; /* "indices,values": 1 to 4 names */
  tn_str flags;      /* names of up to 16 facts about a tensor, "coalesced": bits from TN_LAYOUT_FLAG on of its flags */
  /* Rules on the results of each call with a tensor of this layout, before a kernel is looked for. outputs[i] and
   * sizes[i] hold what the row says of result i: ndim, sizes, dtype, and layout TN_STRIDED; of a row that leaves this
   * to the layout (`infer layout`), ndim is -1. The callback changes what differs: ndim, sizes, dtype, layout, and
   * flags of the layout. TN_DECLINED: it has no word on this op. Optional: then every result is strided. */
  tn_status (*infer)(tn_call* call, tn_str op, tn_tensor* outputs, int64_t (*sizes)[64]);
} tn_ext_layout;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_LAYOUT_H_ */
