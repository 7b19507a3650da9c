// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and singular values.
#include <string_view>

#include "plugin_cpu/linalg/batches.h"
#include "plugin_cpu/linalg/condensed.h"
#include "tenon/sdk/ops/_factor_eig.h"
#include "tenon/sdk/ops/_factor_eigh.h"
#include "tenon/sdk/ops/_factor_svd.h"

namespace tenon::cpu::linalg {
namespace {

// What LAPACK says of an element that is not finite: that the matrix is no valid argument.
constexpr int kNotFinite = -4;

// Whether condensed.h has it.
template <class T>
bool here(const Shape& s) {
  return !is_complex_v<T> && is_large(s);
}

template <class T>
class Eigh {
 public:
  using R = real_t<T>;
  Eigh(const Shape& s, bool upper, bool vectors)
      : n_(s.rows), job_(vectors ? 'V' : 'N'), triangle_(upper ? 'L' : 'U'), here_(here<T>(s)) {
    if (here_) return;
    T size(0);
    R real_size(0);
    int int_size = 0;
    call(nullptr, nullptr, &size, -1, &real_size, -1, &int_size, -1);
    work_ = buffer<T>(work_size(size), n_);
    real_work_ = buffer<R>(static_cast<int64_t>(real_size));
    int_work_ = buffer<int>(int_size);
    a_ = buffer<T>(s.elements(), n_);
  }
  // V: null, or the vectors.
  int run(const T* from, R* values, T* V) {
    if constexpr (!is_complex_v<T>) {
      if (here_) return symmetric_eigenvalues(n_, from, triangle_ == 'L', values, V);
    }
    const int64_t elements = int64_t{n_} * n_;
    std::copy_n(from, elements, a_.data());
    const int code = call(a_.data(), values, work_.data(), static_cast<int>(work_.size()),
                          real_work_.data(), static_cast<int>(real_work_.size()), int_work_.data(),
                          static_cast<int>(int_work_.size()));
    if (!V) return code;
    to_rows(a_.data(), n_, n_, n_, V);
    for (int64_t i = 0; i < elements; ++i) V[i] = conjugate(V[i]);
    return code;
  }

 private:
  int call(T* a, R* values, T* work, int size, R* real_work, int real_size, int* int_work,
           int int_size) {
    const auto f = routines<T>().syevd;
    if constexpr (is_complex_v<T>) {
      return f(kColumnMajor, job_, triangle_, n_, a, leading(n_), values, work, size, real_work,
               real_size, int_work, int_size);
    } else {
      return f(kColumnMajor, job_, triangle_, n_, a, leading(n_), values, work, size, int_work,
               int_size);
    }
  }
  int n_;
  char job_, triangle_;
  bool here_;
  std::vector<T> a_, work_;
  std::vector<R> real_work_;
  std::vector<int> int_work_;
};

tn_status nothing_to_factor(const Tensor& info) {
  std::fill_n(info.data<int32_t>(), info.numel(), 0);
  return TN_OK;
}

// Read by columns the matrix is the conjugate, whose eigenvectors are the conjugates of ours.
tn_status factor_eigh(Call&, Tensor L, Tensor V, Tensor info, Tensor self, bool upper,
                      bool vectors) {
  const Shape s(self);
  const int n = s.rows;
  if (self.numel() == 0) return nothing_to_factor(info);
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using R = real_t<T>;
    over_batch(s.count, 4 * cube(s), [&](int64_t begin, int64_t end) {
      Eigh<T> solver(s, upper, vectors);
      for (int64_t b = begin; b < end; ++b) {
        const T* from = self.data<T>() + b * s.elements();
        R* values = L.data<R>() + b * n;
        T* to = vectors ? V.data<T>() + b * s.elements() : nullptr;
        const bool finite = all_finite(from, s.elements());
        info.data<int32_t>()[b] = finite ? solver.run(from, values, to) : n;
        if (finite) continue;
        std::fill_n(values, n, std::numeric_limits<R>::quiet_NaN());
        if (vectors) std::copy_n(from, s.elements(), to);
      }
    });
  });
  return TN_OK;
}

// Of real matrices: a pair of conjugate eigenvectors is stored as its real and imaginary part.
template <class R>
void write_pairs(const R* v, const R* imaginary, int n, complex<R>* out) {
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = imaginary[j] != 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const R re = v[j * n + i], im = pair ? v[(j + 1) * n + i] : R(0);
      out[i * n + j] = {re, im};
      if (pair) out[i * n + j + 1] = {re, -im};
    }
    if (pair) ++j;
  }
}

template <class T>
class Eig {
 public:
  using R = real_t<T>;
  using C = complex<R>;
  Eig(int n, bool vectors)
      : n_(n),
        vectors_(vectors),
        a(buffer<T>(int64_t{n} * n, n)),
        v_(buffer<T>(vectors ? int64_t{n} * n : 1, n)),
        re_(buffer<R>(2 * int64_t{n})),
        im_(buffer<R>(n)) {
    T size(0);
    call(nullptr, &size, -1);
    work_ = buffer<T>(work_size(size), n);
  }
  int run(C* values, C* out) {
    const int code = call(values, work_.data(), static_cast<int>(work_.size()));
    if constexpr (is_complex_v<T>) {
      if (vectors_) to_rows(v_.data(), n_, n_, n_, out);
    } else {
      for (int i = 0; i < n_; ++i) {
        const auto at = static_cast<std::size_t>(i);
        values[i] = {re_[at], im_[at]};
      }
      if (vectors_) write_pairs(v_.data(), im_.data(), n_, out);
    }
    return code;
  }

 private:
  int call([[maybe_unused]] C* values, T* work, int size) {
    const auto f = routines<T>().geev;
    const char job = vectors_ ? 'V' : 'N';
    if constexpr (is_complex_v<T>) {
      return f(kColumnMajor, 'N', job, n_, a.data(), n_, values, nullptr, n_, v_.data(), n_, work,
               size, re_.data());
    } else {
      return f(kColumnMajor, 'N', job, n_, a.data(), n_, re_.data(), im_.data(), nullptr, n_,
               v_.data(), n_, work, size);
    }
  }
  int n_;
  bool vectors_;

 public:
  std::vector<T> a;

 private:
  std::vector<T> v_, work_;
  std::vector<R> re_, im_;
};

tn_status factor_eig(Call&, Tensor L, Tensor V, Tensor info, Tensor self, bool vectors) {
  const Shape s(self);
  const int n = s.rows;
  if (self.numel() == 0) return nothing_to_factor(info);
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = complex<real_t<T>>;
    over_batch(s.count, 20 * cube(s), [&](int64_t begin, int64_t end) {
      Eig<T> solver(n, vectors);
      for (int64_t b = begin; b < end; ++b) {
        const T* from = self.data<T>() + b * s.elements();
        to_columns(from, n, n, solver.a.data(), n);
        C *values = L.data<C>() + b * n, *out = vectors ? V.data<C>() + b * s.elements() : nullptr;
        info.data<int32_t>()[b] = all_finite(from, s.elements()) ? solver.run(values, out) : n;
      }
    });
  });
  return TN_OK;
}

template <class T>
class Svd {
 public:
  using R = real_t<T>;
  Svd(const Shape& s, bool full, bool vectors)
      : s_(s),
        m_(s.rows),
        n_(s.columns),
        k_(s.shorter()),
        job_(!vectors ? 'N'
             : full   ? 'A'
                      : 'S'),
        here_(here<T>(s)) {
    if (!here_) reserve();
  }
  int64_t u_elements() const { return int64_t{m_} * u_columns(); }
  int64_t v_elements() const { return int64_t{v_rows()} * n_; }
  // U and Vh: null, or the vectors.
  int run(const T* from, R* values, T* U, T* Vh) {
    if constexpr (!is_complex_v<T>) {
      if (here_) return singular_values(s_, from, job_ == 'A', values, U, Vh);
    }
    to_columns(from, m_, n_, a_.data(), m_);
    const int code = call(values, work_.data(), static_cast<int>(work_.size()));
    if (!U) return code;
    to_rows(u_.data(), m_, m_, u_columns(), U);
    to_rows(v_.data(), v_rows(), v_rows(), n_, Vh);
    return code;
  }

 private:
  int u_columns() const { return job_ == 'A' ? m_ : k_; }
  int v_rows() const { return job_ == 'A' ? n_ : k_; }
  void reserve() {
    const bool vectors = job_ != 'N';
    a_ = buffer<T>(s_.elements(), m_);
    u_ = buffer<T>(vectors ? u_elements() : 1, m_);
    v_ = buffer<T>(vectors ? v_elements() : 1, v_rows());
    int_work_ = buffer<int>(8 * int64_t{k_});
    if (is_complex_v<T>) {
      const int64_t k = k_, longest = std::max(m_, n_);
      real_work_ = buffer<R>(std::max(5 * k * k + 7 * k, 2 * longest * k + 2 * k * k + k));
    }
    T size(0);
    R none(0);
    call(&none, &size, -1);
    work_ = buffer<T>(work_size(size), std::max(m_, n_));
  }
  int call(R* values, T* work, int size) {
    const auto f = routines<T>().gesdd;
    if constexpr (is_complex_v<T>) {
      return f(kColumnMajor, job_, m_, n_, a_.data(), m_, values, u_.data(), m_, v_.data(),
               v_rows(), work, size, real_work_.data(), int_work_.data());
    } else {
      return f(kColumnMajor, job_, m_, n_, a_.data(), m_, values, u_.data(), m_, v_.data(),
               v_rows(), work, size, int_work_.data());
    }
  }
  Shape s_;
  int m_, n_, k_;
  char job_;
  bool here_;
  std::vector<T> a_, u_, v_, work_;
  std::vector<R> real_work_;
  std::vector<int> int_work_;
};

// The identity, for the vectors of a matrix without elements.
template <class T>
void write_identities(Tensor t) {
  if (t.numel() == 0 || t.ndim() < 2) return;
  const Shape s(t);
  std::fill_n(t.data<T>(), t.numel(), T(0));
  for (int64_t b = 0; b < s.count; ++b)
    for (int64_t i = 0; i < s.shorter(); ++i)
      t.data<T>()[b * s.elements() + i * s.columns + i] = T(1);
}

tn_status factor_svd(Call&, Tensor U, Tensor S, Tensor Vh, Tensor info, Tensor self, bool full,
                     bool vectors, std::optional<std::string_view>) {
  const Shape s(self);
  const int k = s.shorter();
  dispatch_lapack(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using R = real_t<T>;
    if (self.numel() == 0) {
      std::fill_n(info.data<int32_t>(), info.numel(), 0);
      write_identities<T>(U);
      write_identities<T>(Vh);
      return;
    }
    over_batch(s.count, 10 * cube(s), [&](int64_t begin, int64_t end) {
      Svd<T> solver(s, full, vectors);
      for (int64_t b = begin; b < end; ++b) {
        const T* from = self.data<T>() + b * s.elements();
        T* u = vectors ? U.data<T>() + b * solver.u_elements() : nullptr;
        T* v = vectors ? Vh.data<T>() + b * solver.v_elements() : nullptr;
        R* values = S.data<R>() + int64_t{b} * k;
        const bool finite = all_finite(from, s.elements());
        info.data<int32_t>()[b] = finite ? solver.run(from, values, u, v) : kNotFinite;
        if (finite) continue;
        const R none = std::numeric_limits<R>::quiet_NaN();
        std::fill_n(values, k, none);
        if (vectors) {
          std::fill_n(u, solver.u_elements(), T(none));
          std::fill_n(v, solver.v_elements(), T(none));
        }
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_factor_eigh, factor_eigh, TENON_LAPACK_DTYPES);
TN_KERNEL(_factor_eig, factor_eig, TENON_LAPACK_DTYPES);
TN_KERNEL(_factor_svd, factor_svd, TENON_LAPACK_DTYPES);

}  // namespace tenon::cpu::linalg
