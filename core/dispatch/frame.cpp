// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/frame.h"

namespace tenon::core {

tn_value* CallFrame::mutable_args() {
  if (!own_args) {
    for (uint32_t i = 0; i < op().n_args; ++i) args[i] = in[i];
    in = args;
    own_args = true;
  }
  return args;
}

void CallFrame::restore_args() {
  if (!own_args) return;
  n_views = n_small = 0;
  if (lists) lists->written.clear();
  for (uint32_t i = 0; i < op().n_args; ++i) {
    if (args[i].tag != TN_TAG_GENERATOR) args[i] = infer.in[i];
  }
}

}  // namespace tenon::core
