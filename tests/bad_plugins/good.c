/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Nothing is wrong with it. */
#define PLUGIN_NAME "good"
#include "toy.h"
