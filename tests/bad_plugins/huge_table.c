/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Its descriptor's size is garbage. */
#define PLUGIN_NAME "huge_table"
#define PLUGIN_SIZE ((size_t)-1)
#include "toy.h"
