// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Softmax over the middle of three dimensions of a row-major array.
#pragma once

#include <cstdint>

#include "tenon/sdk/kernel.h"

namespace tenon::cpu {

struct SoftmaxShape {
  int64_t outer, length, inner;
};

// Floating dtypes; `to` may be wider than `from`. y may be x where the dtypes are equal.
void softmax(sdk::DType from, sdk::DType to, const SoftmaxShape& s, bool log, const void* x,
             void* y);
// Gradient by x, from the gradient of the result and the result.
void softmax_backward(sdk::DType from, sdk::DType to, const SoftmaxShape& s, bool log,
                      const void* dy, const void* y, void* dx);

}  // namespace tenon::cpu
