/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Nothing is wrong with it, and it computes relu: used after a fault to check that core still
 * works. */
#ifndef PLUGIN_NAME
#define PLUGIN_NAME "works"
#endif
#ifndef PRIORITY
#define PRIORITY 0
#endif
/* With HALF_OLD it has a kernel for another schema, too. */
#ifdef HALF_OLD
#define PLUGIN_KERNELS kernels, kernels + 2
#else
#define PLUGIN_KERNELS kernels, kernels + 1
#endif
#include "toy_relu.h"
static const tn_kernel one = TOY_RELU(PRIORITY);
static const tn_kernel two = {
    sizeof(tn_kernel), 0, 0, {"neg", 3}, {1, 2, 3}, {"float32", 7}, {0, 0}, {0, 0}, relu, 0, 0, 0};
static const tn_kernel* const kernels[2] = {&one, &two};
#include "toy.h"
static const void* const unused __attribute__((unused)) = &api;
