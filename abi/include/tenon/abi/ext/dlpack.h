/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Exchange with other libraries in one process. */
#ifndef TENON_ABI_EXT_DLPACK_H_
#define TENON_ABI_EXT_DLPACK_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_ext_dlpack {
  tn_ext head;
  /* The stream that a consumer must wait for, as the vendor's handle. */
  void* (*current_work_stream)(void* context, int32_t index);
} tn_ext_dlpack;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_DLPACK_H_ */
