/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A plugin of the device toy. */
#define PLUGIN_DEVICE "toy"
#include "toy.h"
static const void* const unused __attribute__((unused)) = &api;
