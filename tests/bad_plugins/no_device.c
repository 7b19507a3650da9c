/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* No device in this machine, which is not an error. */
#define PLUGIN_NAME "no_device"
#define PLUGIN_INIT start
#include "tenon/abi/plugin.h"
static tn_status start(const tn_host* host, tn_str* why) {
  (void)host;
  why->ptr = "no toy on the table";
  why->len = 19;
  return TN_NO_DEVICE;
}
#include "toy.h"
