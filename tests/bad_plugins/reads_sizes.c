/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* It fails with a text that says whether the tables of core state the sizes of the headers. */
#define PLUGIN_NAME "reads_sizes"
#define PLUGIN_INIT start
#include "tenon/abi/plugin.h"
static tn_status start(const tn_host* host, tn_str* why) {
  static const char right[] = "the sizes are those of these headers", wrong[] = "a size is wrong";
  int32_t type = 0;
  const tn_device_api* cpu = host->get_device_api((tn_str){"cpu", 3}, &type);
  tn_device_props props;
  props.struct_size = 8 + sizeof props.name +
                      8; /* as of a caller that does not know the fields after total_bytes */
  props.free_bytes = 4711;
  int right_sizes = host->struct_size == sizeof(tn_host) && host->abi_major == TN_ABI_MAJOR &&
                    host->abi_minor == TN_ABI_MINOR && cpu &&
                    cpu->struct_size == sizeof(tn_device_api) &&
                    cpu->props(cpu->context, 0, &props) == TN_OK && props.free_bytes == 4711;
  why->ptr = right_sizes ? right : wrong;
  why->len = right_sizes ? sizeof right - 1 : sizeof wrong - 1;
  return TN_ERROR;
}
#include "toy.h"
