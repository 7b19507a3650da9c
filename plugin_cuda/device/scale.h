// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The kernel of kernels/scale.cu.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// Multiplies n dense elements in place; complex ones are pairs of real ones.
void scale_reals(const sdk::Call& call, void* memory, sdk::DType dtype, double factor, int64_t n);

}  // namespace tenon::cuda
