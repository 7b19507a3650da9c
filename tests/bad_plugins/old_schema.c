/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A kernel written against another schema of its op: only that kernel is left out. */
#define PLUGIN_NAME "old_schema"
#define PLUGIN_KERNELS kernels, kernels + 1
#include "tenon/abi/plugin.h"
static tn_status run(tn_call* call) {
  (void)call;
  return TN_DECLINED;
}
static const tn_kernel one = {sizeof(tn_kernel),
                              0,
                              0,
                              {"add.Tensor", 10},
                              {1, 2, 3},
                              {"all", 3},
                              {0, 0},
                              {0, 0},
                              run,
                              0,
                              0,
                              0};
static const tn_kernel* const kernels[1] = {&one};
#include "toy.h"
