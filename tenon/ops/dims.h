// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Private to libtenon.
#pragma once

#include "tenon/core/error.h"

namespace tenon {

// Dimension d of `rank`, counted from the front. A 0-dim tensor takes what one of a single dimension takes.
inline int64_t wrap(const char* op, int64_t d, int64_t rank) {
  const int64_t n = rank == 0 ? 1 : rank;
  TENON_CHECK(d >= -n && d < n, IndexError, op, ": dimension out of range: allowed [", -n, ", ", n - 1, "], got ", d);
  return d < 0 ? d + n : d;
}

}  // namespace tenon
