/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A library that is not a plugin. */
#define PLUGIN_NAME "no_entry"
#define PLUGIN_ENTRY some_other_function
#include "toy.h"
