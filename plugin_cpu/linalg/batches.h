// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batches of row-major matrices, and the column-major copies that LAPACK works on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "plugin_cpu/linalg/lapack.h"
#include "plugin_cpu/linalg/transpose.h"
#include "tenon/sdk/dispatch.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu::linalg {

using lapack::kColumnMajor;
using lapack::real_t;
using lapack::routines;
using namespace sdk;

#define TENON_LAPACK_DTYPES dtypes("float32,float64,complex64,complex128")

// Calls f with the type of a dtype that LAPACK has.
template <class F>
void dispatch_lapack(DType d, F&& f) {
  if (is_complex(d)) return dispatch_complex(d, f);
  if (d == kFloat32) return f(Type<float>{});
  if (d == kFloat64) return f(Type<double>{});
  refuse_dtype(d);
}

inline int to_int(int64_t n) {
  if (n > std::numeric_limits<int>::max())
    throw Error(TN_ERROR_VALUE, "a matrix with a side of ", n, " is too large for LAPACK");
  return static_cast<int>(n);
}

// The sides of the matrices of a tensor, and how many there are.
struct Shape {
  int rows, columns;
  int64_t count = 1;
  explicit Shape(const Tensor& t)
      : rows(to_int(t.size(t.ndim() - 2))), columns(to_int(t.size(t.ndim() - 1))) {
    for (int d = 0; d + 2 < t.ndim(); ++d) count *= t.size(d);
  }
  int shorter() const { return std::min(rows, columns); }
  int64_t elements() const { return int64_t{rows} * columns; }
};

// A leading dimension, which is at least 1.
inline int leading(int rows) { return std::max(1, rows); }

// body(first, last) over the batch: several small matrices at a time, each about `work` operations.
template <class F>
void over_batch(int64_t count, double work, F&& body) {
  const auto grain = static_cast<int64_t>(std::max(1.0, 65536 / std::max(1.0, work)));
  parallel_for(count, grain, body);
}

// From and to row-major.
template <class T>
void to_columns(const T* from, int rows, int columns, T* to, int ld) {
  transpose(from, columns, rows, columns, to, ld);
}
template <class T>
void to_rows(const T* from, int ld, int rows, int columns, T* to) {
  transpose(from, ld, columns, rows, to, columns);
}

template <class T>
bool is_finite(T v) {
  return std::isfinite(v);
}
template <class T>
bool is_finite(complex<T> v) {
  return std::isfinite(v.re) && std::isfinite(v.im);
}
template <class T>
bool all_finite(const T* from, int64_t n) {
  return std::all_of(from, from + n, [](T v) { return is_finite(v); });
}

template <class T>
T conjugate(T v) {
  return v;
}
template <class T>
complex<T> conjugate(complex<T> v) {
  return {v.re, -v.im};
}

// The size that a routine asks for, which it returns as an element.
template <class T>
int work_size(T v) {
  return std::max(1, static_cast<int>(v));
}
template <class T>
int work_size(complex<T> v) {
  return std::max(1, static_cast<int>(v.re));
}

// n elements, of a matrix with that leading dimension or of work space for one. A column more can
// be read: a product of complex numbers in OpenBLAS 0.3.21 reads one element behind its
// vector where the rows leave a remainder of two by four, and a row of a matrix has its next
// element there (OpenBLAS issue 4013).
template <class T>
std::vector<T> buffer(int64_t n, int64_t leading_dimension = 1) {
  std::vector<T> result;
  result.reserve(static_cast<std::size_t>(std::max<int64_t>(1, n) + leading_dimension));
  result.resize(static_cast<std::size_t>(std::max<int64_t>(1, n)));
  return result;
}

inline double cube(const Shape& s) {
  return static_cast<double>(s.rows) * s.columns * std::max(s.rows, s.columns);
}

}  // namespace tenon::cpu::linalg
