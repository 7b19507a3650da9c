// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The trailing matrix of a reduction to condensed form: products with vectors that read it once.
// Matrices are column-major. Sums are taken in kParts parts of columns, whatever the number of
// threads, and a thread finds the same columns in its cache in the next step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/sdk/kernel.h"

namespace tenon::cpu::linalg {

inline constexpr int64_t kParts = 8;
// Columns of a part lie together in groups, which are counted from the last column, so that they
// stay the same while the matrix shrinks.
inline constexpr int64_t kGroup = 64;

// f(first, end) over the columns [begin, end) that belong to a part.
template <class F>
void over_columns(int64_t part, int64_t begin, int64_t end, F&& f) {
  constexpr int64_t kHalf = kParts / 2;  // of the first thread, where there are two
  const int64_t first = part < kHalf ? 2 * part : 2 * (part - kHalf) + 1;
  for (int64_t last = end - first * kGroup; last > begin; last -= kParts * kGroup)
    f(std::max(begin, last - kGroup), last);
}

// body(part) over the parts, by several threads where `work` multiply-adds are worth it.
template <class F>
void over_parts(int64_t work, F&& body) {
  constexpr int64_t kSerial = 1 << 15;
  sdk::parallel_for(kParts, work > kSerial ? 1 : kParts, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) body(part);
  });
}

// y = A x over rows and columns [begin, n) of a symmetric matrix, of which the lower triangle is
// read and, of each group, the square on the diagonal. `parts`: room for kParts * n numbers.
template <class T>
struct SymmetricProduct {
  const T* a;
  int64_t ld, n, begin;
  const T* x;
  T *y, *parts;
};
void multiply(const SymmetricProduct<float>& p);
void multiply(const SymmetricProduct<double>& p);

// A step of the reduction to bidiagonal form, of a matrix of m rows by n columns. With v in rows
// [row, m), columns [column, n) and z of row `row`:
//   y = tau * (A^T v - y),   z = A[row] - z - y,   x = A z in rows [row + 1, m).
// A column's y and z are known before its part of x is added, so that one pass does. (Howell,
// Demmel, Fulton, Hammarling, Marmol: Cache efficient bidiagonalization using BLAS 2.5 operators.)
template <class T>
struct BidiagonalStep {
  const T* a;
  int64_t ld, m, n, row, column;
  const T* v;
  T tau;
  T *y, *z, *x, *parts;  // parts: room for kParts * m numbers
};
void run(const BidiagonalStep<float>& s);
void run(const BidiagonalStep<double>& s);

}  // namespace tenon::cpu::linalg
