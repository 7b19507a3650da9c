// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A call as text. Private to libtenon.
#pragma once

#include <string>

#include "tenon/core/op.h"

namespace tenon::autograd {

// "mul.Tensor(float32 [2, 3], 2)": the tensors by dtype and shape, other arguments as values where
// they are short.
std::string describe_call(const core::Op& op, const tn_value* in);

}  // namespace tenon::autograd
