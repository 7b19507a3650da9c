/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Its device lacks a required function. */
#define PLUGIN_NAME "no_copy"
#define PLUGIN_COPY 0
#include "toy.h"
