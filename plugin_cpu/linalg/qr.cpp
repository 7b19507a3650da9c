// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LAPACK factors a panel of columns, and the columns behind it are multiplied by its reflectors.
#include "plugin_cpu/linalg/qr.h"

#include "plugin_cpu/linalg/padded.h"
#include "plugin_cpu/linalg/reflectors.h"

namespace tenon::cpu::linalg {
namespace {

constexpr int64_t kPanel = 64;

// What stands before the rest of vector r.
template <class T>
void write_head(int64_t r, T* row) {
  std::fill_n(row, r, T(0));
  row[r] = T(1);
}

// The vectors of reflectors that LAPACK has left below the diagonal of a column-major matrix of m
// rows, written out to rows of v.
template <class T>
void write_vectors(const T* a, int64_t ld, int64_t m, int64_t count, T* v, int64_t v_ld) {
  for (int64_t r = 0; r < count; ++r) {
    T* row = v + r * v_ld;
    write_head(r, row);
    std::copy(a + r * ld + r + 1, a + r * ld + m, row + r + 1);
  }
}

// All reflectors of a factored row-major matrix, written out.
template <class T>
Padded<T> vectors_of(const Shape& s, const T* a, int count) {
  Padded<T> v(count, s.rows);
  parallel_for(count, kRows, [&](int64_t begin, int64_t end) {
    transpose(a + begin, s.columns, s.rows, end - begin, v.row(begin), v.ld);
    for (int64_t r = begin; r < end; ++r) write_head(r, v.row(r));
  });
  return v;
}

template <class T>
Product<T> product_of(const Padded<T>& v, const T* tau) {
  return Product<T>({v.row(0), v.ld, v.count, v.length, 0, tau});
}

}  // namespace

template <class T>
void qr_factor(const Shape& s, const T* from, T* out, T* tau) {
  const int64_t m = s.rows, n = s.columns, k = s.shorter();
  Padded<T> a(n, m);
  a.read(from, true);
  const Padded<T> v(kPanel, m);
  auto work = buffer<T>(kPanel * kPanel, m);
  for (int64_t j = 0; j < k; j += kPanel) {
    const int64_t count = std::min(kPanel, k - j), next = j + count;
    routines<T>().geqrf(kColumnMajor, static_cast<int>(m - j), static_cast<int>(count),
                        a.row(j) + j, static_cast<int>(a.ld), tau + j, work.data(),
                        static_cast<int>(work.size()));
    if (next == n) break;
    write_vectors(a.row(j) + j, a.ld, m - j, count, v.row(0), v.ld);
    const Product<T> q({v.row(0), v.ld, count, m - j, 0, tau + j});
    parallel_for(n - next, kRows, [&](int64_t begin, int64_t end) {
      q.apply_transposed(end - begin, a.row(next + begin) + j, a.ld);
    });
  }
  parallel_for(n, kRows, [&](int64_t begin, int64_t end) {
    write(a.row(begin), a.ld, begin, end, n, m, true, out);
  });
}

template <class T>
void qr_vectors(const Shape& s, const T* a, const T* tau, int count, T* out) {
  const Padded<T> v = vectors_of(s, a, count);
  const Product<T> q = product_of(v, tau);
  parallel_for(s.columns, kRows, [&](int64_t begin, int64_t end) {
    const Padded<T> x(end - begin, s.rows);
    for (int64_t r = begin; r < end; ++r) {
      std::fill_n(x.row(r - begin), s.rows, T(0));
      x.row(r - begin)[r] = T(1);
    }
    q.apply_first(std::min<int64_t>(count, end), end - begin, x.row(0), x.ld);
    write(x.row(0), x.ld, begin, end, s.columns, s.rows, true, out);
  });
}

template <class T>
void qr_multiply(const Shape& s, const T* a, const T* tau, int count, const Shape& c,
                 const T* other, bool left, bool transposed, T* out) {
  const Padded<T> v = vectors_of(s, a, count);
  const Product<T> q = product_of(v, tau);
  // The vectors that are multiplied are columns, or rows: (x^T Q)^T = Q^T x.
  const int64_t vectors = left ? c.columns : c.rows, length = left ? c.rows : c.columns;
  parallel_for(vectors, kRows, [&](int64_t begin, int64_t end) {
    const Padded<T> x(end - begin, length);
    if (left) {
      transpose(other + begin, c.columns, c.rows, end - begin, x.row(0), x.ld);
    } else {
      for (int64_t r = begin; r < end; ++r)
        std::copy_n(other + r * length, length, x.row(r - begin));
    }
    if (left != transposed)
      q.apply(end - begin, x.row(0), x.ld);
    else
      q.apply_transposed(end - begin, x.row(0), x.ld);
    write(x.row(0), x.ld, begin, end, vectors, length, left, out);
  });
}

#define TN_QR(T)                                                                                 \
  template void qr_factor(const Shape&, const T*, T*, T*);                                       \
  template void qr_vectors(const Shape&, const T*, const T*, int, T*);                           \
  template void qr_multiply(const Shape&, const T*, const T*, int, const Shape&, const T*, bool, \
                            bool, T*);
TN_QR(float)
TN_QR(double)
#undef TN_QR

}  // namespace tenon::cpu::linalg
