/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* It needs a function that no library defines. */
#define PLUGIN_NAME "undefined_symbol"
#define PLUGIN_INIT start
#include "tenon/abi/plugin.h"
void tenon_test_function_that_nobody_has(void);
static tn_status start(const tn_host* host, tn_str* why) {
  (void)host, (void)why;
  tenon_test_function_that_nobody_has();
  return TN_OK;
}
#include "toy.h"
