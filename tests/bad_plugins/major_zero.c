/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* From before the first version of the ABI. */
#define PLUGIN_NAME "major_zero"
#define PLUGIN_MAJOR 0
#include "toy.h"
