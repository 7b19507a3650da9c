// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Embedding bags: gathers all rows, and scatters them by bag.
#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

// Of each column the maximum of a bag, 0 of an empty one, and the row of the first index that has
// it.
Both bag_maxima(const Tensor& rows, const Tensor& index, const Tensor& bag, const Tensor& kept,
                const Tensor& filled) {
  const int64_t bags = filled.size(0), n = rows.size(0), width = rows.size(1);
  const Tensor low = full({bags, width}, lowest(rows.scalar_type()), options_of(rows));
  const Tensor largest = scatter_slices(
      low, 0, bag, tenon::where(kept, rows, scalar_like(lowest(rows.scalar_type()), rows)),
      TN_SCATTER_MAX);
  const Tensor same = logical_and(rows.eq(gather_slices(largest, 0, bag)), kept);
  const Tensor place = tenon::where(same, positions(n, index).unsqueeze(1), scalar_like(n, index));
  const Tensor first =
      scatter_slices(full({bags, width}, n, options_of(index)), 0, bag, place, TN_SCATTER_MIN);
  const Tensor row =
      n == 0 ? first
             : gather_slices(index, 0, first.clamp(0, n - 1).reshape({-1})).reshape({bags, width});
  return {tenon::where(filled, largest, scalar_like(0, largest)),
          tenon::where(filled, row, scalar_like(0, row))};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> _embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool, int64_t mode, bool,
    const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
    int64_t padding_idx) {
  const Tensor index = as(indices, kLong), at = as(offsets, kLong);
  const int64_t n = index.numel(), bags = at.numel() - (include_last_offset ? 1 : 0),
                width = weight.size(1);
  const Tensor starts = at.slice(0, 0, bags), one = scalar_like(1, index);
  const Tensor begun = scatter_slices(full({n + 1}, 0, options_of(index)), 0, starts,
                                      one.expand({bags}), TN_SCATTER_ADD);
  const Tensor bag = begun.cumsum(0).slice(0, 0, n) - 1;
  const Tensor kept = index.ne(padding_idx);
  const Tensor size =
      scatter_slices(full({bags}, 0, options_of(index)), 0, bag, as(kept, kLong), TN_SCATTER_ADD);
  const Tensor filled = size.ne(0).unsqueeze(1);
  Tensor rows = wide(gather_slices(weight, 0, index));
  if (mode == 2) {
    const auto [largest, row] = bag_maxima(rows, index, bag, kept.unsqueeze(1), filled);
    return {largest, bag, size, row};
  }
  if (per_sample_weights && per_sample_weights->defined())
    rows = rows * wide(*per_sample_weights).unsqueeze(1);
  rows = tenon::where(kept.unsqueeze(1), rows, scalar_like(0, rows));
  Tensor sum =
      scatter_slices(full({bags, width}, 0, options_of(rows)), 0, bag, rows, TN_SCATTER_ADD);
  if (mode == 1) sum = sum / as(size.clamp_min(1), sum.scalar_type()).unsqueeze(1);
  return {sum, bag, size, full({0}, 0, options_of(index))};
}

}  // namespace tenon::decomp
