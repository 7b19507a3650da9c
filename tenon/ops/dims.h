// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Private to libtenon.
#pragma once

#include <algorithm>
#include <vector>

#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon {

// An empty list with room for n results, each of which takes memory of its own.
inline std::vector<Tensor> list_for(const char* op, int64_t n) {
  core::check_room(op, "results", n, sizeof(core::TensorImpl) + sizeof(Tensor));
  std::vector<Tensor> list;
  list.reserve(static_cast<std::size_t>(n));
  return list;
}

// Dimension d of `rank`, counted from the front. A 0-dim tensor takes what one of a single
// dimension takes.
inline int64_t wrap(const char* op, int64_t d, int64_t rank) {
  const int64_t n = rank == 0 ? 1 : rank;
  TENON_CHECK(d >= -n && d < n, IndexError, op, ": dimension out of range: allowed [", -n, ", ",
              n - 1, "], got ", d);
  return d < 0 ? d + n : d;
}

// The dimensions counted from the front, each once.
inline std::vector<int64_t> distinct_dims(const char* op, IntArrayRef dims, int64_t rank) {
  std::vector<int64_t> out;
  for (const int64_t d : dims) {
    out.push_back(wrap(op, d, rank));
    TENON_CHECK(std::count(out.begin(), out.end(), out.back()) == 1, ValueError, op, ": dim ", d,
                " appears multiple times in the list of dims");
  }
  return out;
}

}  // namespace tenon
