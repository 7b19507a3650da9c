/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* It has the name of another. */
#define PLUGIN_NAME "good"
#define PLUGIN_DEVICE "same_name"
#include "toy.h"
