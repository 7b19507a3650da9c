// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sizes, dtype and layout of the results of each call.
#pragma once

#include "tenon/abi/ext/layout.h"

namespace tenon::coo {

tn_status infer(tn_call* call, tn_str op, tn_tensor* outputs, int64_t (*sizes)[64]);

}  // namespace tenon::coo
