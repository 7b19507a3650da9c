// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs of 16-bit floats to and from float.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/sdk/half.h"

namespace tenon::cpu {

void to_float(const sdk::Half* from, float* to, int64_t n);
void to_float(const sdk::BFloat16* from, float* to, int64_t n);
void from_float(const float* from, sdk::Half* to, int64_t n);
void from_float(const float* from, sdk::BFloat16* to, int64_t n);

// c = alpha * sum + beta * c, rounded once; elements of c are `step` apart. `sum` is spent; with
// beta 0, c is not read.
template <class H>
void store_sums(float* sum, int64_t n, float alpha, float beta, H* c, int64_t step) {
  if (alpha != 1) std::transform(sum, sum + n, sum, [alpha](float x) { return alpha * x; });
  if (step == 1) {
    if (beta != 0) {
      std::transform(sum, sum + n, c, sum,
                     [beta](float x, H y) { return x + beta * static_cast<float>(y); });
    }
    return from_float(sum, c, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    H& out = c[i * step];
    out = H(beta == 0 ? sum[i] : sum[i] + beta * static_cast<float>(out));
  }
}

}  // namespace tenon::cpu
