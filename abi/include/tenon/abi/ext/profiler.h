/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Time stamps of the device, matched to calls by tn_call.correlation. */
#ifndef TENON_ABI_EXT_PROFILER_H_
#define TENON_ABI_EXT_PROFILER_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_ext_profiler {
  tn_ext head;
  tn_status (*start)(void* context, int32_t index);
  /* Calls `emit` once per finished kernel: its correlation id, name, begin and end in ns of the
   * host's steady clock. */
  tn_status (*stop)(void* context, int32_t index,
                    void (*emit)(void* arg, uint64_t correlation, tn_str name, int64_t begin_ns,
                                 int64_t end_ns),
                    void* arg);
} tn_ext_profiler;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_PROFILER_H_ */
