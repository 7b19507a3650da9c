// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums of rows that lie anywhere, for the instruction set at hand.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// to[k] = rows[0][k] * factors[0] + rows[1][k] * factors[1] + ..., in this order, for k below
// `width`; factors may be null. Prefetches the `ahead` rows that follow the n ones in the list.
void sum_rows(const float* const* rows, const float* factors, int64_t n, int64_t ahead,
              int64_t width, float* to);
void sum_rows(const double* const* rows, const double* factors, int64_t n, int64_t ahead,
              int64_t width, double* to);

}  // namespace tenon::cpu
