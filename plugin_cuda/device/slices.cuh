// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Slices of a dimension of a row-major tensor, compared element by element. Each NaN is distinct.
#pragma once

#include "plugin_cuda/device/order.cuh"

namespace tenon::cuda {

struct Slices {
  const char* p;
  Code code;
  int64_t n, outer, inner;  // slices; elements before and after the dimension

  TN_DEVICE int64_t elements() const { return outer * inner; }
  // Element e of slice i.
  TN_DEVICE const char* at(int64_t i, int64_t e) const {
    return p + ((e / inner * n + i) * inner + e % inner) * code_bytes(code);
  }
  TN_DEVICE bool differ(int64_t a, int64_t b, int64_t e) const {
    const char *x = at(a, e), *y = at(b, e);
    return key_of(x, code) != key_of(y, code) || is_nan(x, code);
  }
  // Whether slice a comes before b; two NaN compare equal.
  TN_DEVICE bool before(int64_t a, int64_t b) const {
    for (int64_t e = 0; e < elements(); ++e) {
      const uint64_t x = key_of(at(a, e), code), y = key_of(at(b, e), code);
      if (x != y) return x < y;
    }
    return false;
  }
};

}  // namespace tenon::cuda
