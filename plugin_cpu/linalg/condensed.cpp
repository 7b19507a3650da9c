// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/linalg/condensed.h"

#include <numeric>

#include "plugin_cpu/linalg/bidiagonal.h"
#include "plugin_cpu/linalg/divide.h"
#include "plugin_cpu/linalg/padded.h"
#include "plugin_cpu/linalg/reflectors.h"
#include "plugin_cpu/linalg/tridiagonal.h"

namespace tenon::cpu::linalg {
namespace {

constexpr int kSmallest = 256;  // below LAPACK is as fast, measured

// A factor that brings the largest magnitude into the range where its square, and its square's
// reciprocal, are numbers; 1 if it is there. As LAPACK's drivers.
template <class T>
T scale_of(const T* a, int64_t n) {
  T largest(0);
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(a[i]));
  const T least = std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
  if (largest > 0 && largest < least) return least / largest;
  return largest > 1 / least ? 1 / least / largest : T(1);
}

}  // namespace

bool is_large(const Shape& s) {
  return s.shorter() >= kSmallest && 2 * std::max(s.rows, s.columns) <= 3 * s.shorter();
}

template <class T>
int symmetric_eigenvalues(int n, const T* from, bool upper, T* values, T* V) {
  Padded<T> a(n, n);
  // Read by columns the upper triangle is the lower one.
  a.read(from, !upper);
  const T factor = scale_of(from, int64_t{n} * n);
  a.scale(factor);
  auto d = buffer<T>(n), e = buffer<T>(n), tau = buffer<T>(n);
  to_tridiagonal(n, a.row(0), a.ld, d.data(), e.data(), tau.data());
  auto order = buffer<int>(n);
  int code = 0;
  if (!V) {
    code = routines<T>().sterf(n, d.data(), e.data());
    std::iota(order.begin(), order.end(), 0);
  } else {
    const Padded<T> z(n, n);
    code = tridiagonal_eigenvalues(n, d.data(), e.data(), z.row(0), static_cast<int>(z.ld),
                                   order.data());
    const Product<T> q({a.row(0), a.ld, n - 1, n, 1, tau.data()});
    parallel_for(n, kRows, [&](int64_t begin, int64_t end) {
      const Padded<T> x(end - begin, n);
      for (int64_t r = begin; r < end; ++r)
        std::copy_n(z.row(order[static_cast<std::size_t>(r)]), n, x.row(r - begin));
      q.apply(end - begin, x.row(0), x.ld);
      write(x.row(0), x.ld, begin, end, n, n, true, V);
    });
  }
  for (int i = 0; i < n; ++i) {
    const auto from_place = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    values[i] = d[from_place] / factor;
  }
  return code;
}

template <class T>
int singular_values(const Shape& s, const T* from, bool full, T* values, T* U, T* Vh) {
  // Of a wide matrix the transposed one, which is the same memory.
  const bool wide = s.columns > s.rows;
  const int m = std::max(s.rows, s.columns), n = s.shorter(), columns = full ? m : n;
  Padded<T> a(n, m);
  const Padded<T> right(n, n);
  a.read(from, !wide);
  const T factor = scale_of(from, s.elements());
  a.scale(factor);
  auto e = buffer<T>(n), tau_left = buffer<T>(n), tau_right = buffer<T>(n);
  to_bidiagonal(Bidiagonal<T>{m, n, a.row(0), a.ld, right.row(0), right.ld, values, e.data(),
                              tau_left.data(), tau_right.data()});
  auto work = buffer<T>(3 * int64_t{n} * n + 4 * int64_t{n});
  auto int_work = buffer<int>(8 * int64_t{n});
  const auto solve = [&](char job, T* u, int64_t u_ld, T* v, int64_t v_ld) {
    return routines<T>().bdsdc(kColumnMajor, 'U', job, n, values, e.data(), u,
                               static_cast<int>(u_ld), v, static_cast<int>(v_ld), nullptr, nullptr,
                               work.data(), int_work.data());
  };
  int code = 0;
  if (!U) {
    code = solve('N', nullptr, 1, nullptr, 1);
  } else {
    const Padded<T> u(columns, m), v(n, n);
    for (int64_t r = 0; r < columns; ++r) std::fill(u.row(r) + (r < n ? n : 0), u.row(r) + m, T(0));
    for (int64_t r = n; r < columns; ++r) u.row(r)[r] = T(1);
    code = solve('I', u.row(0), u.ld, v.row(0), v.ld);
    const Product<T> q({a.row(0), a.ld, n, m, 0, tau_left.data()}),
        p({right.row(0), right.ld, n - 1, n, 1, tau_right.data()});
    parallel_for(columns, kRows, [&](int64_t begin, int64_t end) {
      q.apply(end - begin, u.row(begin), u.ld);
      write(u.row(begin), u.ld, begin, end, columns, m, !wide, wide ? Vh : U);
    });
    // bdsdc has written these by columns.
    parallel_for(n, kRows, [&](int64_t begin, int64_t end) {
      const Padded<T> x(end - begin, n);
      transpose(v.row(0) + begin, v.ld, n, end - begin, x.row(0), x.ld);
      p.apply(end - begin, x.row(0), x.ld);
      write(x.row(0), x.ld, begin, end, n, n, wide, wide ? U : Vh);
    });
  }
  for (int i = 0; i < n; ++i) values[i] /= factor;
  return code;
}

template int symmetric_eigenvalues(int, const float*, bool, float*, float*);
template int symmetric_eigenvalues(int, const double*, bool, double*, double*);
template int singular_values(const Shape&, const float*, bool, float*, float*, float*);
template int singular_values(const Shape&, const double*, bool, double*, double*, double*);

}  // namespace tenon::cpu::linalg
