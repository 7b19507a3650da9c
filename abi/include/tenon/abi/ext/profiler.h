/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Named ranges of the host that the profiler of the device's vendor shows beside its kernels. */
#ifndef TENON_ABI_EXT_PROFILER_H_
#define TENON_ABI_EXT_PROFILER_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_ext_profiler {
  tn_ext head;
  /* Begins a range of the calling thread, inside of those that it began before. `name` is copied.
   */
  void (*push_range)(tn_str name);
  /* Ends the innermost range of the calling thread. */
  void (*pop_range)(void);
} tn_ext_profiler;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_PROFILER_H_ */
