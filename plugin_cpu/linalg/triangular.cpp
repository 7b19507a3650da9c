// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LU, Cholesky's and Bunch and Kaufman's factorizations, and equations solved with them.
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "plugin_cpu/linalg/batches.h"
#include "plugin_cpu/linalg/lu.h"
#include "plugin_cpu/linalg/small_lu.h"
#include "tenon/sdk/ops/_factor_cholesky.h"
#include "tenon/sdk/ops/_factor_ldl.h"
#include "tenon/sdk/ops/_factor_lu.h"
#include "tenon/sdk/ops/_pivots_to_permutation.h"
#include "tenon/sdk/ops/_solve_ldl.h"
#include "tenon/sdk/ops/_solve_lu.h"
#include "tenon/sdk/ops/_solve_square.h"
#include "tenon/sdk/ops/_solve_triangular.h"
#include "tenon/sdk/ops/pstrf.h"

namespace tenon::cpu::linalg {
namespace {

// Those that LAPACK factors; the others have lu.h.
template <class T>
constexpr bool kLapackLu = is_complex_v<T>;

template <class T>
std::vector<T> lapack_buffer(bool wanted, int64_t n, int64_t leading_dimension) {
  return wanted ? buffer<T>(n, leading_dimension) : std::vector<T>();
}

// P A = L U of one row-major matrix; the code of getrf is returned. LAPACK works on `columns`,
// which keeps the factors.
template <class T>
int factor(const T* A, const Shape& s, T* columns, T* LU, int32_t* pivots) {
  if constexpr (kLapackLu<T>) {
    to_columns(A, s.rows, s.columns, columns, s.rows);
    const int code = s.shorter() == 0 ? 0
                                      : routines<T>().getrf(kColumnMajor, s.rows, s.columns,
                                                            columns, s.rows, pivots);
    to_rows(columns, s.rows, s.rows, s.columns, LU);
    return code;
  } else {
    return lu_factor(s.rows, s.columns, A, LU, pivots);
  }
}

tn_status factor_lu(Call&, Tensor LU, Tensor pivots, Tensor info, Tensor self) {
  const Shape s(self);
  const int64_t n = s.elements(), k = s.shorter();
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    over_batch(s.count, cube(s), [&](int64_t begin, int64_t end) {
      auto a = lapack_buffer<T>(kLapackLu<T>, n, s.rows);
      for (int64_t b = begin; b < end; ++b)
        info.data<int32_t>()[b] = factor(self.data<T>() + b * n, s, a.data(), LU.data<T>() + b * n,
                                         pivots.data<int32_t>() + b * k);
    });
  });
  return TN_OK;
}

// A X = B by the factors of A, which LAPACK reads from `columns`, with `x` for its right sides.
template <class T>
void solve_factored(const Shape& s, const T* LU, const T* columns, const int32_t* pivots,
                    bool adjoint, const T* B, int right, T* x, T* X) {
  if constexpr (kLapackLu<T>) {
    to_columns(B, s.rows, right, x, s.rows);
    routines<T>().getrs(kColumnMajor, adjoint ? 'C' : 'N', s.rows, right, columns, s.rows, pivots,
                        x, s.rows);
    to_rows(x, s.rows, s.rows, right, X);
  } else {
    std::copy(B, B + int64_t{s.rows} * right, X);
    lu_solve(s.rows, LU, pivots, adjoint, X, right);
  }
}

// A small matrix has loops without calls.
tn_status solve_square(Call&, Tensor X, Tensor LU, Tensor pivots, Tensor info, Tensor A, Tensor B) {
  const Shape s(A), right(B);
  const int64_t n = s.elements(), m = right.elements();
  dispatch_lapack(A.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    over_batch(s.count, cube(s) + cube(right), [&](int64_t begin, int64_t end) {
      const bool small = s.rows <= kSmallLu, lapack = kLapackLu<T> && !small;
      auto a = lapack_buffer<T>(lapack, n, s.rows), x = lapack_buffer<T>(lapack, m, s.rows);
      for (int64_t b = begin; b < end; ++b) {
        int32_t* rows = pivots.data<int32_t>() + b * s.rows;
        T *to = X.data<T>() + b * m, *factors = LU.data<T>() + b * n;
        const T *from = A.data<T>() + b * n, *rhs = B.data<T>() + b * m;
        int32_t& code = info.data<int32_t>()[b];
        if (small) {
          std::copy(from, from + n, factors);
          code = small_lu(factors, s.rows, rows);
          std::copy(rhs, rhs + m, to);
          small_lu_solve(factors, s.rows, rows, to, right.columns);
          continue;
        }
        code = factor(from, s, a.data(), factors, rows);
        solve_factored(s, factors, a.data(), rows, false, rhs, right.columns, x.data(), to);
      }
    });
  });
  return TN_OK;
}

// Row-major memory read by columns is the transposed matrix, so that its upper triangle is our
// lower one; and U^H U = conj(A) there is L L^H = A here.
tn_status factor_cholesky(Call&, Tensor L, Tensor info, Tensor self, bool upper) {
  const Shape s(self);
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const auto& f = routines<T>();
    over_batch(s.count, cube(s) / 3, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const T* from = self.data<T>() + b * s.elements();
        T* a = L.data<T>() + b * s.elements();
        for (int64_t i = 0; i < s.rows; ++i) {
          for (int64_t j = 0; j < s.rows; ++j) {
            const bool kept = upper ? j >= i : j <= i;
            a[i * s.rows + j] = kept ? from[i * s.rows + j] : T(0);
          }
        }
        info.data<int32_t>()[b] =
            s.rows == 0 ? 0 : f.potrf(kColumnMajor, upper ? 'L' : 'U', s.rows, a, s.rows);
      }
    });
  });
  return TN_OK;
}

tn_status factor_ldl(Call&, Tensor LD, Tensor pivots, Tensor info, Tensor self, bool hermitian) {
  const Shape s(self);
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const auto factor = hermitian ? routines<T>().hetrf : routines<T>().sytrf;
    over_batch(s.count, cube(s), [&](int64_t begin, int64_t end) {
      auto a = buffer<T>(s.elements(), s.rows);
      T size(0);
      factor(kColumnMajor, 'L', s.rows, a.data(), leading(s.rows), nullptr, &size, -1);
      auto work = buffer<T>(work_size(size), s.rows);
      for (int64_t b = begin; b < end; ++b) {
        to_columns(self.data<T>() + b * s.elements(), s.rows, s.rows, a.data(), s.rows);
        info.data<int32_t>()[b] = s.rows == 0 ? 0
                                              : factor(kColumnMajor, 'L', s.rows, a.data(), s.rows,
                                                       pivots.data<int32_t>() + b * s.rows,
                                                       work.data(), static_cast<int>(work.size()));
        to_rows(a.data(), s.rows, s.rows, s.rows, LD.data<T>() + b * s.elements());
      }
    });
  });
  return TN_OK;
}

// Exchanges of rows within the matrix.
void check_exchanges(const int32_t* pivots, int64_t k, int64_t rows) {
  for (int64_t i = 0; i < k; ++i) {
    if (pivots[i] < 1 || pivots[i] > rows)
      throw Error(TN_ERROR_VALUE, "pivot ", pivots[i], " is outside of [1, ", rows, "]");
  }
}

// The same negative entry twice is one block of two rows.
void check_blocks(const int32_t* pivots, int64_t n) {
  for (int64_t i = 0; i < n;) {
    const int64_t row = std::abs(int64_t{pivots[i]}), block = pivots[i] < 0 ? 2 : 1;
    if (row < 1 || row > n || i + block > n || (block == 2 && pivots[i + 1] != pivots[i]))
      throw Error(TN_ERROR_VALUE, "pivot ", pivots[i], " at ", i, " is none of ", n, " rows");
    i += block;
  }
}

tn_status solve_ldl(Call&, Tensor X, Tensor LD, Tensor pivots, Tensor B, bool hermitian) {
  const Shape s(LD), right(B);
  if (X.numel() == 0) return TN_OK;
  dispatch_lapack(LD.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const auto solve = hermitian ? routines<T>().hetrs : routines<T>().sytrs;
    over_batch(s.count, cube(s) + cube(right), [&](int64_t begin, int64_t end) {
      auto a = buffer<T>(s.elements(), s.rows), x = buffer<T>(right.elements(), s.rows);
      for (int64_t b = begin; b < end; ++b) {
        const int32_t* rows = pivots.data<int32_t>() + b * s.rows;
        check_blocks(rows, s.rows);
        to_columns(LD.data<T>() + b * s.elements(), s.rows, s.rows, a.data(), s.rows);
        to_columns(B.data<T>() + b * right.elements(), s.rows, right.columns, x.data(), s.rows);
        solve(kColumnMajor, 'L', s.rows, right.columns, a.data(), s.rows, rows, x.data(), s.rows);
        to_rows(x.data(), s.rows, s.rows, right.columns, X.data<T>() + b * right.elements());
      }
    });
  });
  return TN_OK;
}

tn_status solve_lu(Call&, Tensor X, Tensor LU, Tensor pivots, Tensor B, bool adjoint) {
  const Shape s(LU), right(B);
  const int64_t n = s.elements(), m = right.elements();
  if (X.numel() == 0) return TN_OK;
  dispatch_lapack(LU.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    over_batch(s.count, cube(s) + cube(right), [&](int64_t begin, int64_t end) {
      constexpr bool lapack = kLapackLu<T>;
      auto a = lapack_buffer<T>(lapack, n, s.rows), x = lapack_buffer<T>(lapack, m, s.rows);
      for (int64_t b = begin; b < end; ++b) {
        const int32_t* rows = pivots.data<int32_t>() + b * s.rows;
        const T* factors = LU.data<T>() + b * n;
        check_exchanges(rows, s.rows, s.rows);
        if (lapack) to_columns(factors, s.rows, s.rows, a.data(), s.rows);
        solve_factored(s, factors, a.data(), rows, adjoint, B.data<T>() + b * m, right.columns,
                       x.data(), X.data<T>() + b * m);
      }
    });
  });
  return TN_OK;
}

// Read by columns A X = B is X^T A^T = B^T, and A^T has the other triangle: nothing is copied.
tn_status solve_triangular(Call&, Tensor X, Tensor self, Tensor B, bool upper, bool unit) {
  const Shape s(self), right(B);
  if (X.numel() == 0) return TN_OK;
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const auto& f = routines<T>();
    const T one(1);
    over_batch(s.count, cube(right), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        T* x = X.data<T>() + b * right.elements();
        const T* from = B.data<T>() + b * right.elements();
        std::copy(from, from + right.elements(), x);
        f.trsm("R", upper ? "L" : "U", "N", unit ? "U" : "N", &right.columns, &s.rows, &one,
               self.data<T>() + b * s.elements(), &s.rows, x, &right.columns);
      }
    });
  });
  return TN_OK;
}

tn_status pivots_to_permutation(Call&, Tensor out, Tensor pivots, int64_t n) {
  const int64_t k = pivots.size(pivots.ndim() - 1);
  if (n == 0) return TN_OK;
  for (int64_t b = 0; b < out.numel() / n; ++b) {
    const int32_t* from = pivots.data<int32_t>() + b * k;
    int64_t* rows = out.data<int64_t>() + b * n;
    std::iota(rows, rows + n, int64_t{0});
    check_exchanges(from, k, n);
    for (int64_t i = 0; i < k; ++i) std::swap(rows[i], rows[from[i] - 1]);
  }
  return TN_OK;
}

tn_status pivoted_cholesky(Call&, Tensor u, Tensor pivots, Tensor self, bool upper, Scalar tol) {
  const Shape s(self);
  if (s.rows == 0) return TN_OK;
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using R = real_t<T>;
    auto a = buffer<T>(s.elements(), s.rows);
    auto work = buffer<R>(2 * int64_t{s.rows});
    to_columns(self.data<T>(), s.rows, s.rows, a.data(), s.rows);
    int32_t* piv = pivots.data<int32_t>();
    int rank = 0;
    routines<T>().pstrf(kColumnMajor, upper ? 'U' : 'L', s.rows, a.data(), s.rows, piv, &rank,
                        static_cast<R>(tol.to<double>()), work.data());
    to_rows(a.data(), s.rows, s.rows, s.rows, u.data<T>());
    for (int64_t i = 0; i < s.rows; ++i) {
      --piv[i];
      for (int64_t j = 0; j < s.rows; ++j) {
        if (upper ? j < i : j > i) u.data<T>()[i * s.rows + j] = T(0);
      }
    }
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_factor_lu, factor_lu, TENON_LAPACK_DTYPES);
TN_KERNEL(_factor_cholesky, factor_cholesky, TENON_LAPACK_DTYPES);
TN_KERNEL(_factor_ldl, factor_ldl, TENON_LAPACK_DTYPES);
TN_KERNEL(_solve_ldl, solve_ldl, TENON_LAPACK_DTYPES.mixed_dtypes());
TN_KERNEL(_solve_lu, solve_lu, TENON_LAPACK_DTYPES.mixed_dtypes());
TN_KERNEL(_solve_square, solve_square, TENON_LAPACK_DTYPES);
TN_KERNEL(_solve_triangular, solve_triangular, TENON_LAPACK_DTYPES);
TN_KERNEL(_pivots_to_permutation, pivots_to_permutation, dtypes("int32"));
TN_KERNEL(pstrf, pivoted_cholesky, TENON_LAPACK_DTYPES);

}  // namespace tenon::cpu::linalg
