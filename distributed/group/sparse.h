// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums of sparse tensors over the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/function_ref.h"
#include "tenon/tensor.h"

namespace tenon::distributed {

// gather(out, in): of one dimension each; `out` gets every rank's `in`, in the order of ranks.
using Gather = FunctionRef<void(const Tensor& out, const Tensor& in)>;

// The coalesced sum, of the same bits on all ranks, of what the ranks bring: counts[r] elements of
// rank r. `indices` and `values` are this rank's. A collective, of `gather` twice.
Tensor sum_elements(const Tensor& indices, const Tensor& values, IntArrayRef sizes,
                    const std::vector<int64_t>& counts, Gather gather);

}  // namespace tenon::distributed
