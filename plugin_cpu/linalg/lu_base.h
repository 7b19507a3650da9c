// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The innermost loops of LU factors and of triangular equations, for float and double; what
// surrounds them is products of matrices (lu.cpp).
#pragma once

#include <cstdint>

#include "plugin_cpu/gemm/gemm.h"

namespace tenon::cpu::linalg {

// Equations of at most this many rows are solved by the loops here.
inline constexpr int64_t kTriangularBase = 16;
inline constexpr int64_t kTriangularBaseOfVector = 64;

struct Triangle {
  bool upper;
  bool unit;  // its diagonal is not read
};

// P A = L U in place, `rows` >= `columns`, each column of A contiguous and `step` from the next.
// pivots: of the rows of A, from 0. Returns the first column whose pivot is zero, counted from 1,
// or 0; the columns behind it are factored all the same.
int lu_base(int64_t rows, int64_t columns, float* a, int64_t step, int32_t* pivots);
int lu_base(int64_t rows, int64_t columns, double* a, int64_t step, int32_t* pivots);

// T X = B in place of B, whose n rows are contiguous and `step` apart; one column has step 1.
void triangular_base(Triangle kind, int64_t n, Mat<const float> t, float* x, int64_t columns,
                     int64_t step);
void triangular_base(Triangle kind, int64_t n, Mat<const double> t, double* x, int64_t columns,
                     int64_t step);

}  // namespace tenon::cpu::linalg
