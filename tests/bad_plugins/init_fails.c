/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* init gives a reason. */
#define PLUGIN_NAME "init_fails"
#define PLUGIN_INIT start
#include "tenon/abi/plugin.h"
static tn_status start(const tn_host* host, tn_str* why) {
  (void)host;
  why->ptr = "the moon is in the wrong house";
  why->len = 30;
  return TN_ERROR_BACKEND;
}
#include "toy.h"
