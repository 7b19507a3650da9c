/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Of another major version of the ABI. */
#define PLUGIN_NAME "wrong_major"
#define PLUGIN_MAJOR 99
#include "toy.h"
