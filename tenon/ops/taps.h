// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Weighted sums of elements along a dimension, by tables of indices and weights. Private to
// libtenon.
#pragma once

#include "sdk/include/tenon/sdk/resample.h"
#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {

using Taps = sdk::ResampleAxis<double>;

// Along `dim`, the weighted sum of the elements that the table names. With `skip`, those of weight
// 0 do not count even where they are NaN or infinite.
Tensor blended(const Tensor& x, int64_t dim, const Taps& taps, bool skip = false);
// Its gradient for x.
Tensor unblended(const Tensor& g, int64_t dim, const Taps& taps);

}  // namespace tenon::decomp
