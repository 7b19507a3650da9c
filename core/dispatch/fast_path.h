// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The fast path of calls with uniform operands. Private to core.
#pragma once

#include "core/registry/cells.h"
#include "tenon/core/infer.h"

namespace tenon::core {

// One call of an operator with kOpFastPath; false, and nothing happened, if it has to take the
// general path.
bool call_fast_path(const Op& op, const tn_value* in, TensorImpl** outs, Form form);

}  // namespace tenon::core
