/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Its descriptor stops before init. */
#define PLUGIN_NAME "short_table"
#define PLUGIN_SIZE offsetof(tn_plugin, device)
#include "toy.h"
