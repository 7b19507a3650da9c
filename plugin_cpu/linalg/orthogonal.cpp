// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// QR factorizations, products of their reflectors, and least squares.
#include <string_view>

#include "plugin_cpu/linalg/batches.h"
#include "plugin_cpu/linalg/qr.h"
#include "tenon/sdk/ops/_factor_lstsq.h"
#include "tenon/sdk/ops/geqrf.h"
#include "tenon/sdk/ops/linalg_householder_product.h"
#include "tenon/sdk/ops/ormqr.h"

namespace tenon::cpu::linalg {
namespace {

// f(index) for each matrix of a batch, if qr.h has this type and size.
template <class T, class F>
bool each_large(const Shape& s, int reflectors, F&& f) {
  if (is_complex_v<T> || !is_large_qr(reflectors)) return false;
  over_batch(s.count, cube(s), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) f(b);
  });
  return true;
}

tn_status factor_qr(Call&, Tensor out, Tensor tau, Tensor self) {
  const Shape s(self);
  const int k = s.shorter();
  if (k == 0) return TN_OK;
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    if (each_large<T>(s, k, [&](int64_t b) {
          const int64_t at = b * s.elements();
          if constexpr (!is_complex_v<T>)
            qr_factor(s, self.data<T>() + at, out.data<T>() + at, tau.data<T>() + b * k);
        }))
      return;
    const auto& f = routines<T>();
    over_batch(s.count, cube(s), [&](int64_t begin, int64_t end) {
      auto a = buffer<T>(s.elements(), s.rows);
      T size(0);
      f.geqrf(kColumnMajor, s.rows, s.columns, a.data(), s.rows, &size, &size, -1);
      auto work = buffer<T>(work_size(size), s.rows);
      for (int64_t b = begin; b < end; ++b) {
        to_columns(self.data<T>() + b * s.elements(), s.rows, s.columns, a.data(), s.rows);
        f.geqrf(kColumnMajor, s.rows, s.columns, a.data(), s.rows, tau.data<T>() + b * k,
                work.data(), static_cast<int>(work.size()));
        to_rows(a.data(), s.rows, s.rows, s.columns, out.data<T>() + b * s.elements());
      }
    });
  });
  return TN_OK;
}

tn_status householder_product(Call&, Tensor out, Tensor input, Tensor tau) {
  const Shape s(input);
  const int k = to_int(tau.size(tau.ndim() - 1));
  if (out.numel() == 0) return TN_OK;
  dispatch_lapack(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    if (each_large<T>(s, k, [&](int64_t b) {
          const int64_t at = b * s.elements();
          if constexpr (!is_complex_v<T>)
            qr_vectors(s, input.data<T>() + at, tau.data<T>() + b * k, k, out.data<T>() + at);
        }))
      return;
    const auto& f = routines<T>();
    over_batch(s.count, cube(s), [&](int64_t begin, int64_t end) {
      auto a = buffer<T>(s.elements(), s.rows);
      T size(0), none(0);
      f.orgqr(kColumnMajor, s.rows, s.columns, k, a.data(), s.rows, &none, &size, -1);
      auto work = buffer<T>(work_size(size), s.rows);
      for (int64_t b = begin; b < end; ++b) {
        to_columns(input.data<T>() + b * s.elements(), s.rows, s.columns, a.data(), s.rows);
        const T* factors = k > 0 ? tau.data<T>() + b * k : &none;
        f.orgqr(kColumnMajor, s.rows, s.columns, k, a.data(), s.rows, factors, work.data(),
                static_cast<int>(work.size()));
        to_rows(a.data(), s.rows, s.rows, s.columns, out.data<T>() + b * s.elements());
      }
    });
  });
  return TN_OK;
}

tn_status multiply_by_q(Call&, Tensor out, Tensor self, Tensor tau, Tensor other, bool left,
                        bool transpose) {
  const Shape s(self), c(other);
  const int k = to_int(tau.size(tau.ndim() - 1));
  if (out.numel() == 0) return TN_OK;
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    if (each_large<T>(c, k, [&](int64_t b) {
          const int64_t at = b * c.elements();
          if constexpr (!is_complex_v<T>)
            qr_multiply(s, self.data<T>() + b * s.elements(), tau.data<T>() + b * k, k, c,
                        other.data<T>() + at, left, transpose, out.data<T>() + at);
        }))
      return;
    const auto& f = routines<T>();
    const char side = left ? 'L' : 'R', trans = !transpose ? 'N' : is_complex_v<T> ? 'C' : 'T';
    over_batch(c.count, cube(c), [&](int64_t begin, int64_t end) {
      auto a = buffer<T>(s.elements(), s.rows), x = buffer<T>(c.elements(), c.rows);
      T size(0), none(0);
      f.ormqr(kColumnMajor, side, trans, c.rows, c.columns, k, a.data(), leading(s.rows), &none,
              x.data(), c.rows, &size, -1);
      auto work = buffer<T>(work_size(size), s.rows);
      for (int64_t b = begin; b < end; ++b) {
        to_columns(self.data<T>() + b * s.elements(), s.rows, s.columns, a.data(), s.rows);
        to_columns(other.data<T>() + b * c.elements(), c.rows, c.columns, x.data(), c.rows);
        const T* factors = k > 0 ? tau.data<T>() + b * k : &none;
        f.ormqr(kColumnMajor, side, trans, c.rows, c.columns, k, a.data(), leading(s.rows), factors,
                x.data(), c.rows, work.data(), static_cast<int>(work.size()));
        to_rows(x.data(), c.rows, c.rows, c.columns, out.data<T>() + b * c.elements());
      }
    });
  });
  return TN_OK;
}

enum class Driver { Gels, Gelsy, Gelsd, Gelss };

Driver driver_of(std::string_view name) {
  return name == "gels"    ? Driver::Gels
         : name == "gelsy" ? Driver::Gelsy
         : name == "gelsd" ? Driver::Gelsd
                           : Driver::Gelss;
}

// One problem of least squares in column-major memory; b has room for the longer side.
template <class T>
class LeastSquares {
 public:
  using R = real_t<T>;
  LeastSquares(Driver driver, const Shape& a, int right, R rcond)
      : driver_(driver),
        a_(a),
        right_(right),
        rcond_(rcond),
        matrix(buffer<T>(a.elements(), a.rows)),
        solution(buffer<T>(int64_t{height()} * right, height())),
        values(buffer<R>(a.shorter())) {
    T size(0);
    R real_size(0);
    int int_size = 0;
    solve(&size, -1, &real_size, &int_size);
    work_ = buffer<T>(work_size(size), height());
    const int64_t k = a.shorter(), n = a.columns, most = std::max<int64_t>(2 * n, 5 * k);
    real_work_ = buffer<R>(std::max(static_cast<int64_t>(real_size), most));
    int_work_ = buffer<int>(std::max<int64_t>(int_size, n));
  }

  int height() const { return std::max(a_.rows, a_.columns); }
  int run() {
    std::fill(int_work_.begin(), int_work_.end(), 0);
    return solve(work_.data(), static_cast<int>(work_.size()), real_work_.data(), int_work_.data());
  }

 private:
  int solve(T* work, int size, R* real_work, int* int_work) {
    const auto& f = routines<T>();
    const int m = a_.rows, n = a_.columns;
    const auto call = [&](auto routine, auto... last) {
      return routine(kColumnMajor, m, n, right_, matrix.data(), m, solution.data(), height(),
                     last...);
    };
    if (driver_ == Driver::Gels)
      return f.gels(kColumnMajor, 'N', m, n, right_, matrix.data(), m, solution.data(), height(),
                    work, size);
    if constexpr (is_complex_v<T>) {
      if (driver_ == Driver::Gelsy)
        return call(f.gelsy, int_work, rcond_, &rank, work, size, real_work);
      if (driver_ == Driver::Gelsd)
        return call(f.gelsd, values.data(), rcond_, &rank, work, size, real_work, int_work);
      return call(f.gelss, values.data(), rcond_, &rank, work, size, real_work);
    } else {
      if (driver_ == Driver::Gelsy) return call(f.gelsy, int_work, rcond_, &rank, work, size);
      if (driver_ == Driver::Gelsd)
        return call(f.gelsd, values.data(), rcond_, &rank, work, size, int_work);
      return call(f.gelss, values.data(), rcond_, &rank, work, size);
    }
  }

  Driver driver_;
  Shape a_;
  int right_;
  R rcond_;
  std::vector<T> work_;
  std::vector<R> real_work_;
  std::vector<int> int_work_;

 public:
  std::vector<T> matrix, solution;
  std::vector<R> values;
  int rank = 0;
};

template <class T>
real_t<T> squared(T v) {
  if constexpr (is_complex_v<T>)
    return v.re * v.re + v.im * v.im;
  else
    return v * v;
}

// The sums of squares of the last rows of columns.
template <class T>
void write_residuals(const T* x, int ld, int from, int to, int columns, real_t<T>* out) {
  for (int64_t j = 0; j < columns; ++j) {
    out[j] = 0;
    for (int64_t i = from; i < to; ++i) out[j] += squared(x[j * ld + i]);
  }
}

tn_status least_squares(Call&, Tensor X, Tensor residuals, Tensor ranks, Tensor values, Tensor info,
                        Tensor self, Tensor B, std::optional<double> rcond, std::string_view name) {
  const Shape s(self), right(B);
  const int m = s.rows, n = s.columns, k = s.shorter(), c = right.columns;
  const Driver driver = driver_of(name);
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using R = real_t<T>;
    const R limit = rcond ? static_cast<R>(*rcond)
                          : std::numeric_limits<R>::epsilon() * static_cast<R>(std::max(m, n));
    if (s.count == 0) return;
    over_batch(s.count, cube(s) * 4, [&](int64_t begin, int64_t end) {
      std::optional<LeastSquares<T>> problem;
      if (k > 0 && c > 0) problem.emplace(driver, s, c, limit);
      for (int64_t b = begin; b < end; ++b) {
        const T *a = self.data<T>() + b * s.elements(), *y = B.data<T>() + b * right.elements();
        T* x = X.data<T>() + b * n * c;
        int code = 0, rank = 0;
        auto columns = buffer<T>(problem ? 1 : int64_t{m} * c);
        const T* found = columns.data();
        int height = leading(m);
        if (!problem) {
          std::fill(x, x + int64_t{n} * c, T(0));
          to_columns(y, m, c, columns.data(), height);
        } else {
          height = problem->height();
          to_columns(a, m, n, problem->matrix.data(), m);
          std::fill(problem->solution.begin(), problem->solution.end(), T(0));
          to_columns(y, m, c, problem->solution.data(), height);
          if (all_finite(a, s.elements()) && all_finite(y, right.elements())) {
            code = problem->run();
            rank = problem->rank;
          } else {
            std::fill(problem->solution.begin(), problem->solution.end(),
                      T(std::numeric_limits<R>::quiet_NaN()));
            std::fill(problem->values.begin(), problem->values.end(), R(0));
          }
          found = problem->solution.data();
          to_rows(found, height, n, c, x);
        }
        info.data<int32_t>()[b] = code;
        if (ranks.numel() > 0) ranks.data<int64_t>()[b] = rank;
        if (values.numel() > 0) {
          R* const singular = values.data<R>() + b * k;
          problem ? std::copy_n(problem->values.data(), k, singular)
                  : std::fill_n(singular, k, R(0));
        }
        if (residuals.numel() > 0)
          // As torch, gels without columns leaves zeros.
          write_residuals(found, height, n == 0 && driver == Driver::Gels ? m : n, m, c,
                          residuals.data<R>() + b * c);
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(geqrf, factor_qr, TENON_LAPACK_DTYPES);
TN_KERNEL(linalg_householder_product, householder_product, TENON_LAPACK_DTYPES);
TN_KERNEL(ormqr, multiply_by_q, TENON_LAPACK_DTYPES);
TN_KERNEL(_factor_lstsq, least_squares, TENON_LAPACK_DTYPES);

}  // namespace tenon::cpu::linalg
