// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums and maps over contiguous runs, for normalization. Sums are added in an order that depends on
// n alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tenon::cpu {

// Two sums that a gradient needs.
template <class T>
struct Pair {
  T first, second;
};

// The type of the elements, which the first argument decides.
template <class T>
using Same = std::type_identity_t<T>;

// Of float and double.
template <class T>
T row_sum(const T* x, int64_t n);
// sum of (x - shift)^2
template <class T>
T row_squares(const T* x, int64_t n, Same<T> shift);
// sum of dy * w, sum of dy * w * (x - shift); w may be null
template <class T>
Pair<T> row_weighted_sums(const T* dy, const T* x, const Same<T>* w, int64_t n, Same<T> shift);
// sum of dy * x * w; w may be null
template <class T>
T row_products(const T* dy, const T* x, const Same<T>* w, int64_t n);
// y = x * a + b
template <class T>
void row_affine(const T* x, T* y, int64_t n, Same<T> a, Same<T> b);
// y = (x - mean) * rstd * w + b; w and b may be null; non_temporal: y is too large for the caches
template <class T>
void row_normalize(const T* x, const Same<T>* w, const Same<T>* b, T* y, int64_t n, Same<T> mean,
                   Same<T> rstd, bool non_temporal);
// dx = a * (dy * w + b * (x - shift) + c); w may be null. One element less its own mean is
// exactly 0.
template <class T>
void row_gradient(const T* dy, const T* x, const Same<T>* w, T* dx, int64_t n, Same<T> shift,
                  Same<T> a, Same<T> b, Same<T> c);
// dw += dy * (x - mean) * rstd, db += dy; either may be null
template <class T>
void row_add_parameters(const T* dy, const T* x, Same<T>* dw, Same<T>* db, int64_t n, Same<T> mean,
                        Same<T> rstd);

// Of a row.
template <class C>
struct Statistics {
  C mean, rstd;
};

template <class C>
Statistics<C> row_statistics(const C* x, int64_t n, double eps) {
  const C mean = row_sum(x, n) / static_cast<C>(n);
  const C variance = row_squares(x, n, mean) / static_cast<C>(n);
  return {mean, static_cast<C>(1 / std::sqrt(static_cast<double>(variance) + eps))};
}

// Rows of n elements that a task has at least.
inline int64_t row_grain(int64_t n) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n));
}

}  // namespace tenon::cpu
