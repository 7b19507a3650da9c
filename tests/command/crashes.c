/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A library that crashes while it is opened. */
#include <signal.h>

#include "tenon/abi/plugin.h"

__attribute__((constructor)) static void open_me(void) { raise(SIGSEGV); }
__attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void) { return 0; }
