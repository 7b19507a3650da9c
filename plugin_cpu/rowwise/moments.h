// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums and maps over contiguous runs, for normalization. Sums are added in an order that depends on
// n alone.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// Two sums that a gradient needs.
template <class T>
struct Pair {
  T first, second;
};

#define TENON_ROWS(T)                                                                         \
  T row_sum(const T* x, int64_t n);                                                           \
  /* sum of (x - shift)^2 */                                                                  \
  T row_squares(const T* x, int64_t n, T shift);                                              \
  /* sum of dy, sum of dy * (x - shift) */                                                    \
  Pair<T> row_gradient_sums(const T* dy, const T* x, int64_t n, T shift);                     \
  /* the same with dy * w in place of dy; w may be null */                                    \
  Pair<T> row_weighted_sums(const T* dy, const T* x, const T* w, int64_t n, T shift);         \
  /* y = x * a + b */                                                                         \
  void row_affine(const T* x, T* y, int64_t n, T a, T b);                                     \
  /* y = (x - mean) * rstd * w + b; w and b may be null; non_temporal: y is too large for the \
   * caches */                                                                                \
  void row_normalize(const T* x, const T* w, const T* b, T* y, int64_t n, T mean, T rstd,     \
                     bool non_temporal);                                                      \
  /* dx = a * (dy * w + b * (x - shift) + c); w may be null. One element less its own mean is \
   * exactly 0. */                                                                            \
  void row_gradient(const T* dy, const T* x, const T* w, T* dx, int64_t n, T shift, T a, T b, \
                    T c);                                                                     \
  /* dw += dy * (x - mean) * rstd, db += dy; either may be null */                            \
  void row_add_parameters(const T* dy, const T* x, T* dw, T* db, int64_t n, T mean, T rstd);
TENON_ROWS(float)
TENON_ROWS(double)
#undef TENON_ROWS

}  // namespace tenon::cpu
