// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What prim_reduce takes from the reductions of other rows.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// One dimension by TN_REDUCE_ code: SUM, PROD, ANY, ALL; and MAX, MIN, ARGMAX, ARGMIN.
tn_status fold_numbers(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self, int64_t dim,
                       int64_t code);
tn_status fold_extremum(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self, int64_t dim,
                        int64_t code);

}  // namespace tenon::cuda
