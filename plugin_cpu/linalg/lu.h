// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LU factors of float and double matrices, and equations solved with them, over the products of
// plugin_cpu/gemm. Matrices are row-major without gaps. Conventions are LAPACK's: rows are
// exchanged by the largest |value|, the first of several; pivots count from 1. Bits do not depend
// on the number of threads.
#pragma once

#include <cstdint>

namespace tenon::cpu::linalg {

// P A = L U of m x n. Returns the first pivot that is zero, counted from 1, or 0; the columns
// behind it are factored all the same. `pivots`: min(m, n).
int lu_factor(int64_t m, int64_t n, const float* A, float* LU, int32_t* pivots);
int lu_factor(int64_t m, int64_t n, const double* A, double* LU, int32_t* pivots);

// A X = B, or A^T X = B, in place of B, n rows of `columns`, by the factors of A.
void lu_solve(int64_t n, const float* LU, const int32_t* pivots, bool transposed, float* X,
              int64_t columns);
void lu_solve(int64_t n, const double* LU, const int32_t* pivots, bool transposed, double* X,
              int64_t columns);

}  // namespace tenon::cpu::linalg
