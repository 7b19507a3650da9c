/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Its table has a hole. */
#define PLUGIN_NAME "null_kernel"
#define PLUGIN_KERNELS kernels, kernels + 1
#include "tenon/abi/plugin.h"
static const tn_kernel* const kernels[1] = {0};
#include "toy.h"
