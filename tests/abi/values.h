/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Arguments of calls, for the clients in C. */
#pragma once

#include <string.h>

#include "tenon/abi/client.h"

static tn_str text(const char* s) { return (tn_str){s, strlen(s)}; }

static tn_value tensor_value(tn_handle t) {
  tn_value v;
  memset(&v, 0, sizeof v);
  v.tag = TN_TAG_TENSOR;
  v.u.tensor = t;
  return v;
}
