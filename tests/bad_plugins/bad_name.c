/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Its name is no name. */
#define PLUGIN_NAME "not a name\n"
#define PLUGIN_DEVICE "bad_name"
#include "toy.h"
