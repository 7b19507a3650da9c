/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Its name is not valid. */
#define PLUGIN_NAME "not a name\n"
#define PLUGIN_DEVICE "bad_name"
#include "toy.h"
