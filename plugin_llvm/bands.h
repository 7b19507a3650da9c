// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Groups that follow each other and go through the same rows: a row of what one stores is all that
// the next ones read for that row. A task runs all of them over a few rows, which stay in cache,
// and temporaries that nothing else reads have memory for so many rows only.
#pragma once

#include <optional>

#include "plugin_llvm/fuse.h"

namespace tenon::llvm_loops {

inline constexpr std::size_t kMaxInBand = 8;

struct Band {
  std::size_t first = 0;  // of the groups
  std::vector<int> row;   // by group from it on: the nest's loop over rows; -1: a group alone
  int64_t rows = 0;       // in all
};

// All groups, in order.
std::vector<Band> find_bands(const Fused& fused, const lp::Binding& binding);
// Temporaries of the band alone, whose first dimension is rows.
std::vector<int> find_locals(const Fused& fused, const Band& band);

// So many rows at once are so many items of a plan.
struct Rows {
  int64_t rows = 1, items = 1;
  int64_t items_before(int64_t row) const { return (row + rows - 1) / rows * items; }
};
// None if the plan has other loops outside, or copies.
std::optional<Rows> find_rows(const Plan& plan, int row, int64_t rows);

}  // namespace tenon::llvm_loops
