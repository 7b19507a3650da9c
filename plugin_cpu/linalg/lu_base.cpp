// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A column is computed from those on its left in one pass, which also finds the size of its pivot:
// sums stay in registers. Overwritten: A, X. Deterministic: sums are in the order of k.
#include "plugin_cpu/linalg/lu_base.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/linalg/lu_base.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::linalg::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums that are computed at a time, as many as hide the latency of an addition.
constexpr int kSums = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

// column -= L u, for `count` vectors; the largest sizes so far are updated. NaN is never larger.
template <int count, class D, class V, class T>
HWY_INLINE void subtract_columns(D d, int64_t k, const T* L, int64_t step, const T* u, T* column,
                                 V& largest) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V sum[count];
#pragma GCC unroll 8
  for (int v = 0; v < count; ++v) sum[v] = hn::LoadU(d, column + v * lanes);
  for (int64_t p = 0; p < k; ++p, L += step) {
    const V factor = hn::Set(d, u[p]);
#pragma GCC unroll 8
    for (int v = 0; v < count; ++v)
      sum[v] = hn::NegMulAdd(hn::LoadU(d, L + v * lanes), factor, sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < count; ++v) {
    hn::StoreU(sum[v], d, column + v * lanes);
    const V size = hn::Abs(sum[v]);
    largest = hn::IfThenElse(hn::Gt(size, largest), size, largest);
  }
}

// Rows [i, rows) as far as they fill `count` vectors; returns the largest size.
template <int count, class D, class T>
HWY_INLINE T update_rows(D d, int64_t& i, int64_t rows, int64_t k, const T* L, int64_t step,
                         const T* u, T* column, T largest) {
  const int64_t block = count * static_cast<int64_t>(hn::Lanes(d));
  if (i + block > rows) return largest;
  auto sizes = hn::Set(d, largest);
  for (; i + block <= rows; i += block)
    subtract_columns<count>(d, k, L + i, step, u, column + i, sizes);
  return hn::GetLane(hn::MaxOfLanes(d, sizes));
}

// Returns the largest size, -1 where each element is NaN.
template <class T>
T update_column(int64_t rows, int64_t k, const T* L, int64_t step, const T* u, T* column) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 4> four;
  const hn::CappedTag<T, 1> one;
  int64_t i = 0;
  T largest = update_rows<kSums>(d, i, rows, k, L, step, u, column, T(-1));
  largest = update_rows<1>(d, i, rows, k, L, step, u, column, largest);
  largest = update_rows<1>(four, i, rows, k, L, step, u, column, largest);
  return update_rows<1>(one, i, rows, k, L, step, u, column, largest);
}

// The first element of that size. A NaN at the top is larger than all, as in LAPACK.
template <class T>
int64_t find_size(int64_t rows, const T* column, T size) {
  if (std::isnan(column[0])) return 0;
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= rows; i += lanes) {
    const auto hit = hn::Eq(hn::Abs(hn::LoadU(d, column + i)), hn::Set(d, size));
    const auto first = hn::FindFirstTrue(d, hit);
    if (first >= 0) return i + first;
  }
  for (; i < rows; ++i) {
    if (std::abs(column[i]) == size) return i;
  }
  return 0;
}

// By the reciprocal where it is as exact as LAPACK takes it to be: neither it nor its argument is
// denormal.
template <class T>
void divide_column(int64_t rows, T* column, T pivot) {
  constexpr T kSmallest = std::numeric_limits<T>::min(), kLargest = 1 / kSmallest;
  const T size = std::abs(pivot);
  if (size >= kSmallest && size <= kLargest) {
    const T factor = 1 / pivot;
    for (int64_t i = 0; i < rows; ++i) column[i] *= factor;
  } else {
    for (int64_t i = 0; i < rows; ++i) column[i] /= pivot;
  }
}

template <class T>
int factor_columns(int64_t rows, int64_t columns, T* a, int64_t step, int32_t* pivots) {
  int code = 0;
  for (int64_t j = 0; j < columns; ++j) {
    T* column = a + j * step;
    for (int64_t p = 0; p + 1 < j; ++p) {
      const T u = column[p];
      for (int64_t i = p + 1; i < j; ++i) column[i] -= a[p * step + i] * u;
    }
    const T size = update_column(rows - j, j, a + j, step, column, column + j);
    const int64_t pivot = j + find_size(rows - j, column + j, size);
    pivots[j] = static_cast<int32_t>(pivot);
    if (pivot != j) {
      for (int64_t p = 0; p < columns; ++p) std::swap(a[p * step + j], a[p * step + pivot]);
    }
    if (column[j] != T(0))
      divide_column(rows - j - 1, column + j + 1, column[j]);
    else if (code == 0)
      code = static_cast<int>(j + 1);
  }
  return code;
}

// Columns of X, `count` vectors of them.
template <int count, class D, class T>
HWY_INLINE void solve_vectors(D d, Triangle kind, int64_t n, const Mat<const T>& t, T* x,
                              int64_t step) {
  using V = hn::Vec<D>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t q = 0; q < n; ++q) {
    const int64_t i = kind.upper ? n - 1 - q : q;
    T* row = x + i * step;
    V sum[count];
#pragma GCC unroll 8
    for (int v = 0; v < count; ++v) sum[v] = hn::LoadU(d, row + v * lanes);
    const int64_t first = kind.upper ? i + 1 : 0;
    for (int64_t p = first; p < first + q; ++p) {
      const V factor = hn::Set(d, t.data[i * t.rs + p * t.cs]);
#pragma GCC unroll 8
      for (int v = 0; v < count; ++v)
        sum[v] = hn::NegMulAdd(factor, hn::LoadU(d, x + p * step + v * lanes), sum[v]);
    }
    const V divisor = hn::Set(d, kind.unit ? T(1) : t.data[i * (t.rs + t.cs)]);
#pragma GCC unroll 8
    for (int v = 0; v < count; ++v)
      hn::StoreU(kind.unit ? sum[v] : hn::Div(sum[v], divisor), d, row + v * lanes);
  }
}

template <class T>
void solve_columns(Triangle kind, int64_t n, const Mat<const T>& t, T* x, int64_t columns,
                   int64_t step) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + kSums * lanes <= columns; j += kSums * lanes)
    solve_vectors<kSums>(d, kind, n, t, x + j, step);
  for (; j + lanes <= columns; j += lanes) solve_vectors<1>(d, kind, n, t, x + j, step);
  const hn::CappedTag<T, 4> four;
  const int64_t few = static_cast<int64_t>(hn::Lanes(four));
  for (; j + few <= columns; j += few) solve_vectors<1>(four, kind, n, t, x + j, step);
  const hn::CappedTag<T, 1> one;
  for (; j < columns; ++j) solve_vectors<1>(one, kind, n, t, x + j, step);
}

// One column, T by its rows: dot products.
template <class T>
void solve_by_rows(Triangle kind, int64_t n, const Mat<const T>& t, T* x) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t q = 0; q < n; ++q) {
    const int64_t i = kind.upper ? n - 1 - q : q;
    int64_t p = kind.upper ? i + 1 : 0;
    const int64_t end = p + q;
    const T* row = t.data + i * t.rs;
    auto sums = hn::Zero(d);
    for (; p + lanes <= end; p += lanes)
      sums = hn::MulAdd(hn::LoadU(d, row + p), hn::LoadU(d, x + p), sums);
    T sum = x[i] - hn::GetLane(hn::SumOfLanes(d, sums));
    for (; p < end; ++p) sum -= row[p] * x[p];
    x[i] = kind.unit ? sum : sum / row[i];
  }
}

// One column, T by its columns: each unknown is subtracted from the others.
template <class T>
void solve_by_columns(Triangle kind, int64_t n, const Mat<const T>& t, T* x) {
  for (int64_t q = 0; q < n; ++q) {
    const int64_t p = kind.upper ? n - 1 - q : q;
    const T* column = t.data + p * t.cs;
    const T value = kind.unit ? x[p] : x[p] / column[p * t.rs];
    x[p] = value;
    const int64_t first = kind.upper ? 0 : p + 1, end = kind.upper ? p : n;
    if (t.rs == 1) {
      for (int64_t i = first; i < end; ++i) x[i] -= column[i] * value;
    } else {
      for (int64_t i = first; i < end; ++i) x[i] -= column[i * t.rs] * value;
    }
  }
}

template <class T>
void solve_base(Triangle kind, int64_t n, const Mat<const T>& t, T* x, int64_t columns,
                int64_t step) {
  if (step != 1) return solve_columns<T>(kind, n, t, x, columns, step);
  if (t.cs == 1) return solve_by_rows<T>(kind, n, t, x);
  solve_by_columns<T>(kind, n, t, x);
}

int factor_f32(int64_t rows, int64_t columns, float* a, int64_t step, int32_t* pivots) {
  return factor_columns(rows, columns, a, step, pivots);
}
int factor_f64(int64_t rows, int64_t columns, double* a, int64_t step, int32_t* pivots) {
  return factor_columns(rows, columns, a, step, pivots);
}
void solve_f32(Triangle kind, int64_t n, const Mat<const float>& t, float* x, int64_t columns,
               int64_t step) {
  solve_base<float>(kind, n, t, x, columns, step);
}
void solve_f64(Triangle kind, int64_t n, const Mat<const double>& t, double* x, int64_t columns,
               int64_t step) {
  solve_base<double>(kind, n, t, x, columns, step);
}

}  // namespace tenon::cpu::linalg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu::linalg {

TENON_EXPORT(factor_f32);
TENON_EXPORT(factor_f64);
TENON_EXPORT(solve_f32);
TENON_EXPORT(solve_f64);

int lu_base(int64_t rows, int64_t columns, float* a, int64_t step, int32_t* pivots) {
  return TENON_DISPATCH(factor_f32)(rows, columns, a, step, pivots);
}
int lu_base(int64_t rows, int64_t columns, double* a, int64_t step, int32_t* pivots) {
  return TENON_DISPATCH(factor_f64)(rows, columns, a, step, pivots);
}
void triangular_base(Triangle kind, int64_t n, Mat<const float> t, float* x, int64_t columns,
                     int64_t step) {
  TENON_DISPATCH(solve_f32)(kind, n, t, x, columns, step);
}
void triangular_base(Triangle kind, int64_t n, Mat<const double> t, double* x, int64_t columns,
                     int64_t step) {
  TENON_DISPATCH(solve_f64)(kind, n, t, x, columns, step);
}

}  // namespace tenon::cpu::linalg
#endif
