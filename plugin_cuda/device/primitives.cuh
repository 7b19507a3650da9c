// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions that prim_reduce shares with other operators.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// One dimension by TN_REDUCE_ code: SUM, PROD, ANY, ALL; and MAX, MIN, ARGMAX, ARGMIN.
tn_status reduce_values(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                        int64_t dim, int64_t code);
tn_status reduce_extremum(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                          int64_t dim, int64_t code);

}  // namespace tenon::cuda
