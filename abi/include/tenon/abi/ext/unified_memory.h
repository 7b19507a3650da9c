/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Memory that host and device address by the same pointer. */
#ifndef TENON_ABI_EXT_UNIFIED_MEMORY_H_
#define TENON_ABI_EXT_UNIFIED_MEMORY_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_ext_unified_memory {
  tn_ext head;
  tn_status (*alloc)(void* context, int32_t index, uint64_t bytes, void** pointer);
  void (*free)(void* context, int32_t index, void* pointer, uint64_t bytes);
  tn_status (*prefetch)(void* context, int32_t index, void* pointer, uint64_t bytes,
                        tn_stream* stream);
} tn_ext_unified_memory;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_UNIFIED_MEMORY_H_ */
