// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Householder reflectors I - tau v v^T as rows of whole vectors, zeros and the leading one written
// out, and products with them over the matrix product of this plugin.
#pragma once

#include <cstdint>
#include <vector>

#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/linalg/batches.h"
#include "plugin_cpu/linalg/trailing.h"

namespace tenon::cpu::linalg {

template <class T>
T dot(int64_t n, const T* a, const T* b) {
  T result;
  gemm(1, 1, n, T(1), {a, 0, 1}, {b, 1, 1}, T(0), Mat<T>{&result, 1, 1});
  return result;
}

// What a blocked reduction to condensed form has still to subtract from its matrix of m rows by n
// columns: the sum of left(r) right(r)^T over the rows that were added since the last
// subtract_from().
template <class T>
class Update {
 public:
  Update(int64_t m, int64_t n, int64_t rows)
      : m_(m), n_(n), left_(buffer<T>(rows * m)), right_(buffer<T>(rows * n)) {
    factors_ = buffer<T>(rows);
  }
  T* left(int64_t r) { return left_.data() + r * m_; }
  T* right(int64_t r) { return right_.data() + r * n_; }
  int64_t size() const { return size_; }
  void grow(int64_t rows) { size_ += rows; }

  // out[i] -= the update's element (i, column), i in [begin, m).
  void subtract_column(int64_t column, int64_t begin, T* out) {
    add(m_ - begin, left(0) + begin, m_, right(0) + column, n_, T(-1), out + begin);
  }
  // out[j] = the update's element (row, j), j in [begin, n).
  void row(int64_t row, int64_t begin, T* out) {
    std::fill(out + begin, out + n_, T(0));
    add(n_ - begin, right(0) + begin, n_, left(0) + row, m_, T(1), out + begin);
  }
  // out[j] = the update, transposed, times v of rows [begin, m); j in [column, n).
  void transposed_product(const T* v, int64_t begin, int64_t column, T* out) {
    dots(m_ - begin, left(0) + begin, m_, v + begin);
    std::fill(out + column, out + n_, T(0));
    add(n_ - column, right(0) + column, n_, factors_.data(), 1, T(1), out + column);
  }
  // out[i] -= the update times u of columns [begin, n); i in [row, m).
  void subtract_product(const T* u, int64_t begin, int64_t row, T* out) {
    dots(n_ - begin, right(0) + begin, n_, u + begin);
    add(m_ - row, left(0) + row, m_, factors_.data(), 1, T(-1), out + row);
  }
  // Subtracts all of it from rows and columns from `begin` on of the column-major `a`; of a
  // symmetric matrix, from the groups of columns without the rows above them.
  void subtract_from(T* a, int64_t ld, int64_t begin, bool symmetric) {
    over_parts((m_ - begin) * (n_ - begin) * size_, [&](int64_t part) {
      over_columns(part, begin, n_, [&](int64_t first, int64_t end) {
        const int64_t row = symmetric ? first : begin;
        gemm(end - first, m_ - row, size_, T(-1), {right(0) + first, 1, n_}, {left(0) + row, m_, 1},
             T(1), Mat<T>{a + first * ld + row, ld, 1});
      });
    });
    size_ = 0;
  }

 private:
  void add(int64_t n, const T* rows, int64_t ld, const T* factors, int64_t step, T sign, T* out) {
    if (size_ != 0)
      gemm(1, n, size_, sign, {factors, 0, step}, {rows, ld, 1}, T(1), Mat<T>{out, n, 1});
  }
  void dots(int64_t n, const T* rows, int64_t ld, const T* v) {
    gemm(size_, 1, n, T(1), {rows, ld, 1}, {v, 1, 1}, T(0), Mat<T>{factors_.data(), 1, 1});
  }

  int64_t m_, n_, size_ = 0;
  std::vector<T> left_, right_, factors_;
};

// Makes a reflector of x[0, n): x becomes v with v[0] = 1. The first element that it maps x to is
// returned.
template <class T>
T make_reflector(int64_t n, T* x, T& tau) {
  routines<T>().larfg(static_cast<int>(n), x, x + 1, 1, &tau);
  const T value = x[0];
  x[0] = T(1);
  return value;
}

// Reflector r is row r of v, m numbers, whose first r + offset are zeros.
template <class T>
struct Reflectors {
  const T* v;
  int64_t ld, count, m, offset;
  const T* tau;
};

// Q = H_0 H_1 ... as blocks I - V t V^T, V's columns being the vectors. (Schreiber, van Loan: A
// storage-efficient WY representation for products of Householder transformations.)
template <class T>
class Product {
 public:
  explicit Product(const Reflectors<T>& h);
  // Every row x of X becomes Q x, or Q^T x. On the calling thread.
  void apply(int64_t rows, T* X, int64_t ld) const { apply_first(h_.count, rows, X, ld); }
  void apply_transposed(int64_t rows, T* X, int64_t ld) const;
  // The same where reflectors from `count` on change none of the rows.
  void apply_first(int64_t count, int64_t rows, T* X, int64_t ld) const;

 private:
  void apply_block(int64_t from, bool transposed, int64_t rows, T* X, int64_t ld, T* work) const;
  Reflectors<T> h_;
  std::vector<T> factors_;
};
extern template class Product<float>;
extern template class Product<double>;

}  // namespace tenon::cpu::linalg
