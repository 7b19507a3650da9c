/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A library that never finishes opening. */
#include "tenon/abi/plugin.h"

__attribute__((constructor)) static void open_me(void) {
  for (;;) {
  }
}
__attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void) { return 0; }
