// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions that prim_reduce shares with other operators.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// Over the dimensions of the mask; in parts if the workspace holds kSumBytes.
inline constexpr uint64_t kSumBytes = 49152 * 16;
tn_status sum_dims(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                   uint64_t mask);
// Along one dimension.
tn_status reduce_sum(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                     int64_t dim);
tn_status reduce_prod(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                      int64_t dim);
tn_status reduce_logic(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                       int64_t dim, bool all);
// TN_REDUCE_MAX, MIN, ARGMAX, ARGMIN.
tn_status reduce_extremum(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                          int64_t dim, int64_t code);

}  // namespace tenon::cuda
