/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* It cannot be unloaded. */
#define PLUGIN_NAME "resident"
#define PLUGIN_FLAGS 0
#include "toy.h"
