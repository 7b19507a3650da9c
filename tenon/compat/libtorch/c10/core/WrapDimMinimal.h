// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <algorithm>
#include <cstdint>

#include "tenon/runtime/error.h"

namespace c10 {

// A dimension counted from the end as one counted from the start. A scalar has the dimensions -1
// and 0, unless wrap_scalar is off.
inline int64_t maybe_wrap_dim(int64_t dim, int64_t dims, bool wrap_scalar = true) {
  TENON_CHECK(dims > 0 || wrap_scalar, IndexError, "Dimension specified as ", dim,
              " but tensor has no dimensions");
  const int64_t n = std::max<int64_t>(dims, 1);
  TENON_CHECK(dim >= -n && dim < n, IndexError,
              "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
              "], but got ", dim, ")");
  return dim < 0 ? dim + n : dim;
}

}  // namespace c10
namespace at {
using ::c10::maybe_wrap_dim;
}
