/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* It has the name of works, and leaves a mark when any of its code runs. */
#define PLUGIN_NAME "works"
#define PLUGIN_VERSION "6.6.6"
#define _GNU_SOURCE
#include <stdlib.h>
__attribute__((constructor)) static void mark(void) { setenv("TENON_TEST_IMPOSTOR", "ran", 1); }
#include "toy.h"
