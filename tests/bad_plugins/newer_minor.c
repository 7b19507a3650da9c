/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* It needs a minor version that this core does not have. */
#define PLUGIN_NAME "newer_minor"
#define PLUGIN_MINOR (TN_ABI_MINOR + 7)
#include "toy.h"
