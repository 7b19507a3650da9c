// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A panel of columns is factored in a transposed copy, where each column is contiguous. While other
// threads subtract one panel's products from the stripes of columns behind it, one thread does so
// for the next panel alone and factors it. Rows of earlier panels are exchanged at the end.
#include "plugin_cpu/linalg/lu.h"

#include <algorithm>

#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/linalg/lu_base.h"
#include "plugin_cpu/linalg/transpose.h"
#include "plugin_cpu/memory/buffer.h"
#include "tenon/sdk/parallel.h"

namespace tenon::cpu::linalg {
namespace {

// Row i of `width` elements is exchanged with row pivots[i] - origin, for i in [0, count), or from
// the last to the first if `backward`.
template <class T>
void exchange_rows(T* x, int64_t step, int64_t width, const int32_t* pivots, int64_t count,
                   int64_t origin, bool backward = false) {
  for (int64_t q = 0; q < count; ++q) {
    const int64_t i = backward ? count - 1 - q : q, other = pivots[i] - origin;
    if (other == i) continue;
    T *a = x + i * step, *b = x + other * step;
    std::swap_ranges(a, a + width, b);
  }
}

// T X = B, by halves.
template <class T>
void solve_triangular(Triangle kind, int64_t n, const Mat<const T>& t, T* x, int64_t columns,
                      int64_t step) {
  const int64_t base = step == 1 ? kTriangularBaseOfVector : kTriangularBase;
  if (n <= base) return triangular_base(kind, n, t, x, columns, step);
  const int64_t half = (n / 2 + base - 1) / base * base, rest = n - half;
  const Mat<const T> below{t.data + half * (t.rs + t.cs), t.rs, t.cs};
  const Mat<T> top{x, step, 1}, bottom{x + half * step, step, 1};
  if (kind.upper) {
    solve_triangular<T>(kind, rest, below, bottom.data, columns, step);
    gemm(half, columns, rest, T(-1), {t.data + half * t.cs, t.rs, t.cs}, {bottom.data, step, 1},
         T(1), top);
    solve_triangular<T>(kind, half, t, x, columns, step);
  } else {
    solve_triangular<T>(kind, half, t, x, columns, step);
    gemm(rest, columns, half, T(-1), {t.data + half * t.rs, t.rs, t.cs}, {x, step, 1}, T(1),
         bottom);
    solve_triangular<T>(kind, rest, below, bottom.data, columns, step);
  }
}

// P A = L U, columns contiguous and `step` apart, by halves. Pivots count from 0.
template <class T>
int factor_panel(int64_t rows, int64_t columns, T* a, int64_t step, int32_t* pivots) {
  constexpr int64_t kBase = 16;
  if (columns <= kBase) return lu_base(rows, columns, a, step, pivots);
  const int64_t left = (columns / 2 + kBase - 1) / kBase * kBase, right = columns - left;
  const int code = factor_panel(rows, left, a, step, pivots);
  T* b = a + left * step;
  for (int64_t j = 0; j < right; ++j) {
    T* column = b + j * step;
    exchange_rows<T>(column, 1, 1, pivots, left, 0);
    solve_triangular<T>({false, true}, left, {a, 1, step}, column, 1, 1);
  }
  gemm(rows - left, right, left, T(-1), {a + left, 1, step}, {b, 1, step}, T(1),
       {b + left, 1, step});
  const int later = factor_panel(rows - left, right, b + left, step, pivots + left);
  for (int64_t j = 0; j < left; ++j)
    exchange_rows<T>(a + j * step + left, 1, 1, pivots + left, right, 0);
  for (int64_t i = left; i < columns; ++i) pivots[i] += static_cast<int32_t>(left);
  return code != 0 || later == 0 ? code : later + static_cast<int>(left);
}

// One factorization. Panel j: the columns from j on.
template <class T>
class Factors {
 public:
  Factors(int64_t m, int64_t n, const T* A, T* LU, int32_t* pivots)
      : m_(m),
        n_(n),
        A_(A),
        LU_(LU),
        pivots_(pivots),
        width_(panel_width(m, n)),
        step_(panel_step(m)),
        memory_(2 * width_ * step_ * int64_t{sizeof(T)}) {}

  int run() {
    const int64_t k = std::min(m_, n_);
    copy();
    load(0);
    factor(0);
    for (int64_t j = 0; j < k; j += width_) {
      const int64_t next = std::min(k, j + width_), behind = std::min(k, next + width_);
      const int64_t ahead = next < behind ? 1 : 0;
      const int64_t stripes = (n_ - behind + kStripe - 1) / kStripe;
      const bool serial = (m_ - j) * (n_ - behind) * width_ <= kGemmSerial;
      sdk::parallel_for(ahead + stripes, serial ? ahead + stripes : 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t q = begin; q < end; ++q) {
                            if (q < ahead) {
                              update(j, next, behind);
                              load(next);
                              factor(next);
                            } else {
                              const int64_t from = behind + (q - ahead) * kStripe;
                              update(j, from, std::min(n_, from + kStripe));
                            }
                          }
                        });
    }
    exchange_earlier_rows();
    return code_;
  }

 private:
  // Of a stripe of columns: longer rows are read faster, more stripes serve more threads.
  static constexpr int64_t kStripe = 512 / sizeof(T);

  // Narrow ones leave more to the products, wide ones read the matrix less often.
  static int64_t panel_width(int64_t m, int64_t n) { return std::min(m, n) < 384 ? 32 : 64; }
  // An odd number of cache lines, so that rows do not meet in one set of the cache.
  static int64_t panel_step(int64_t m) {
    constexpr int64_t kLine = 64 / sizeof(T);
    return ((m + kLine - 1) / kLine | 1) * kLine;
  }

  T* panel(int64_t j) { return memory_.template as<T>() + j / width_ % 2 * width_ * step_; }
  int64_t columns(int64_t j) const { return std::min(width_, std::min(m_, n_) - j); }

  void copy() {
    sdk::parallel_for(m_ * n_, 65536, [&](int64_t begin, int64_t end) {
      std::copy(A_ + begin, A_ + end, LU_ + begin);
    });
  }

  // Panel j, whose products are subtracted, to its copy.
  void load(int64_t j) { transpose(LU_ + j * n_ + j, n_, m_ - j, columns(j), panel(j), step_); }

  void factor(int64_t j) {
    const int64_t count = columns(j);
    const int code = factor_panel(m_ - j, count, panel(j), step_, pivots_ + j);
    if (code != 0 && code_ == 0) code_ = code + static_cast<int>(j);
    for (int64_t i = j; i < j + count; ++i) pivots_[i] += static_cast<int32_t>(j + 1);
    transpose(panel(j), step_, count, m_ - j, LU_ + j * n_ + j, n_);
  }

  // Columns [begin, end) behind panel j.
  void update(int64_t j, int64_t begin, int64_t end) {
    const int64_t count = columns(j), width = end - begin;
    T *x = LU_ + j * n_ + begin, *rest = x + count * n_;
    const T* L = panel(j);
    exchange_rows(x, n_, width, pivots_ + j, count, j + 1);
    solve_triangular<T>({false, true}, count, {L, 1, step_}, x, width, n_);
    gemm(m_ - j - count, width, count, T(-1), {L + count, 1, step_}, {x, n_, 1}, T(1),
         {rest, n_, 1});
  }

  // Exchanges of later panels.
  void exchange_earlier_rows() {
    constexpr int64_t kSerial = 32768;
    const int64_t k = std::min(m_, n_), grain = std::max<int64_t>(1, kSerial / (k * width_));
    sdk::parallel_for((k - 1) / width_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) {
        const int64_t from = (q + 1) * width_;
        exchange_rows(LU_ + from * n_ + q * width_, n_, width_, pivots_ + from, k - from, from + 1);
      }
    });
  }

  struct Panels;
  int64_t m_, n_;
  const T* A_;
  T* LU_;
  int32_t* pivots_;
  int64_t width_, step_;
  CallBuffer<Panels> memory_;  // the panel whose products are subtracted, and the next one
  int code_ = 0;
};

template <class T>
int factor(int64_t m, int64_t n, const T* A, T* LU, int32_t* pivots) {
  return std::min(m, n) == 0 ? 0 : Factors<T>(m, n, A, LU, pivots).run();
}

template <class T>
void solve(int64_t n, const T* LU, const int32_t* pivots, bool transposed, T* x, int64_t columns,
           int64_t step) {
  if (!transposed) exchange_rows(x, step, columns, pivots, n, 1);
  const Mat<const T> by_rows{LU, n, 1}, t = transposed ? by_rows.transposed() : by_rows;
  solve_triangular<T>({false, !transposed}, n, t, x, columns, step);
  solve_triangular<T>({true, transposed}, n, t, x, columns, step);
  if (transposed) exchange_rows(x, step, columns, pivots, n, 1, true);
}

// Stripes of columns, for threads to share.
template <class T>
void solve_stripes(int64_t n, const T* LU, const int32_t* pivots, bool transposed, T* X,
                   int64_t columns) {
  constexpr int64_t kStripe = 128;
  const int64_t stripes = (columns + kStripe - 1) / kStripe;
  sdk::parallel_for(stripes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      const int64_t from = q * kStripe;
      solve(n, LU, pivots, transposed, X + from, std::min(kStripe, columns - from), columns);
    }
  });
}

}  // namespace

int lu_factor(int64_t m, int64_t n, const float* A, float* LU, int32_t* pivots) {
  return factor(m, n, A, LU, pivots);
}
int lu_factor(int64_t m, int64_t n, const double* A, double* LU, int32_t* pivots) {
  return factor(m, n, A, LU, pivots);
}
void lu_solve(int64_t n, const float* LU, const int32_t* pivots, bool transposed, float* X,
              int64_t columns) {
  solve_stripes(n, LU, pivots, transposed, X, columns);
}
void lu_solve(int64_t n, const double* LU, const int32_t* pivots, bool transposed, double* X,
              int64_t columns) {
  solve_stripes(n, LU, pivots, transposed, X, columns);
}

}  // namespace tenon::cpu::linalg
