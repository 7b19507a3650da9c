// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_unary and prim_binary of the special functions (kernels/special_codes.cu).
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// Whether the code is one of a special function and the dtype one that it has; if so the call has
// been launched.
bool special_unary(sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self, int64_t code);
bool special_binary(sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                    const sdk::Tensor& other, int64_t code);

}  // namespace tenon::cuda
