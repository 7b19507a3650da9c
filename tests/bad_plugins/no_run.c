/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A kernel without a function. */
#define PLUGIN_NAME "no_run"
#define PLUGIN_KERNELS kernels, kernels + 1
#include "tenon/abi/plugin.h"
static const tn_kernel one = {
    sizeof(tn_kernel), 0, 0, {"mm", 2}, {0}, {"all", 3}, {0, 0}, {0, 0}, 0, 0, 0, 0};
static const tn_kernel* const kernels[1] = {&one};
#include "toy.h"
