// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LU factors of one small row-major matrix, in place, with LAPACK's conventions: rows are exchanged
// by the largest |re| + |im|, pivots count from 1, the first zero pivot is the code.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "plugin_cpu/linalg/batches.h"

namespace tenon::cpu::linalg {

// Up to this side the loops here are faster than LAPACK's calls.
inline constexpr int kSmallLu = 16;

template <class T>
T magnitude(T v) {
  return std::abs(v);
}
template <class T>
T magnitude(complex<T> v) {
  return std::abs(v.re) + std::abs(v.im);
}

// row -= factor * other, over n elements.
template <class T>
void subtract_row(T* __restrict row, T factor, const T* __restrict other, int n) {
  for (int j = 0; j < n; ++j) row[j] = row[j] - factor * other[j];
}

template <class T>
int largest_below(const T* a, int n, int k) {
  int pivot = k;
  auto largest = magnitude(a[k * n + k]);
  for (int i = k + 1; i < n; ++i) {
    const auto size = magnitude(a[i * n + k]);
    if (size > largest) {
      largest = size;
      pivot = i;
    }
  }
  return pivot;
}

template <class T>
int small_lu(T* a, int n, int32_t* pivots) {
  int code = 0;
  for (int k = 0; k < n; ++k) {
    const int pivot = largest_below(a, n, k);
    pivots[k] = pivot + 1;
    T* row = a + k * n;
    if (pivot != k) std::swap_ranges(row, row + n, a + pivot * n);
    if (magnitude(row[k]) == 0) {
      if (code == 0) code = k + 1;
      continue;
    }
    for (int i = k + 1; i < n; ++i) {
      T* below = a + i * n;
      below[k] = below[k] / row[k];
      subtract_row(below + k + 1, below[k], row + k + 1, n - k - 1);
    }
  }
  return code;
}

// x, of n rows and `columns` columns, becomes the solution.
template <class T>
void small_lu_solve(const T* LU, int n, const int32_t* pivots, T* x, int columns) {
  for (int k = 0; k < n; ++k) {
    if (pivots[k] - 1 != k)
      std::swap_ranges(x + k * columns, x + (k + 1) * columns, x + (pivots[k] - 1) * columns);
  }
  for (int i = 1; i < n; ++i) {
    for (int k = 0; k < i; ++k)
      subtract_row(x + i * columns, LU[i * n + k], x + k * columns, columns);
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k)
      subtract_row(x + i * columns, LU[i * n + k], x + k * columns, columns);
    for (int j = 0; j < columns; ++j) x[i * columns + j] = x[i * columns + j] / LU[i * n + i];
  }
}

}  // namespace tenon::cpu::linalg
