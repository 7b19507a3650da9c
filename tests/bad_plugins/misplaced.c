/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Its descriptor is misaligned. */
#define PLUGIN_NAME "misplaced"
#define PLUGIN_ENTRY unused_entry
#include "toy.h"
__attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void);
const tn_plugin* tenon_plugin_v1(void) {
  static char memory[sizeof plugin + 1] __attribute__((aligned(8)));
  memcpy(memory + 1, &plugin, sizeof plugin);
  return (const tn_plugin*)(const void*)(memory + 1);
}
