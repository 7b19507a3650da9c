/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The entry returns nothing. */
#include "tenon/abi/plugin.h"
__attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void) { return 0; }
