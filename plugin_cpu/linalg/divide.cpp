// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Divide and conquer as LAPACK's stedc, whose parts are called: the halves are solved side by side,
// and what joins them, roots of the secular equation and products of matrices, is shared by the
// threads. (Gu, Eisenstat: A divide-and-conquer algorithm for the symmetric tridiagonal
// eigenproblem.)
#include "plugin_cpu/linalg/divide.h"

#include <atomic>
#include <cmath>
#include <numeric>

#include "plugin_cpu/linalg/reflectors.h"
#include "plugin_cpu/memory/buffer.h"

namespace tenon::cpu::linalg {
namespace {

// From this side on two halves are joined here.
constexpr int kDivide = 256;
constexpr int64_t kRoots = 16;  // a thread's share of the secular equation's roots

template <class T>
int64_t bytes(int64_t n) {
  return n * static_cast<int64_t>(sizeof(T));
}

// The eigenproblem of diag(d) + rho w w^T, all of whose w are nonzero and whose d differ.
template <class T>
struct Secular {
  int n;
  const T* d;
  T* w;
  T rho;
  T* s;  // n columns of n numbers
  T* values;

  T* column(int64_t j) const { return s + j * n; }

  // The roots, and how far each d is from each of them.
  int find_roots() const {
    std::atomic<int> code{0};
    parallel_for(n, kRoots, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        const int index = static_cast<int>(j) + 1;
        int failed = 0;
        routines<T>().laed4(&n, &index, d, w, column(j), &rho, values + j, &failed);
        if (failed != 0) code = failed;
      }
    });
    return code;
  }

  // The w whose roots the computed ones are exactly.
  void correct() const {
    parallel_for(n, 256, [&](int64_t begin, int64_t end) {
      T product[256];
      const int64_t count = end - begin;
      for (int64_t i = 0; i < count; ++i) product[i] = column(begin + i)[begin + i];
      for (int64_t j = 0; j < n; ++j) {
        const T* distance = column(j) + begin;
        for (int64_t i = 0; i < count; ++i) {
          const T factor = distance[i] / (d[begin + i] - d[j]);
          product[i] *= begin + i == j ? T(1) : factor;
        }
      }
      for (int64_t i = 0; i < count; ++i)
        w[begin + i] = std::copysign(std::sqrt(-product[i]), w[begin + i]);
    });
  }

  // Column j becomes vector j, its elements in the order that `order` tells, counted from 1.
  void write_vectors(const int* order) const {
    parallel_for(n, kRoots, [&](int64_t begin, int64_t end) {
      Buffer room(bytes<T>(n));
      T* v = room.as<T>();
      for (int64_t j = begin; j < end; ++j) {
        T* to = column(j);
        for (int64_t i = 0; i < n; ++i) v[i] = n <= 2 ? to[i] : w[i] / to[i];
        const T norm = std::sqrt(dot(n, v, v));
        for (int64_t i = 0; i < n; ++i) to[i] = v[order[i] - 1] / norm;
      }
    });
  }
};

template <class T>
struct Problem {
  int n;
  T *d, *e, *z;
  int ld;
  int* order;  // of the eigenvalues in d, counted from 1

  int solve() const {
    if (n < kDivide) return solve_by_lapack();
    const int half = n / 2;
    const T beside = e[half - 1];
    d[half - 1] -= std::abs(beside);
    d[half] -= std::abs(beside);
    const Problem first{half, d, e, z, ld, order},
        second{n - half, d + half, e + half, z + half * (int64_t{ld} + 1), ld, order + half};
    int codes[2];
    parallel_for(2, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) codes[i] = (i == 0 ? first : second).solve();
    });
    const int code = codes[0] != 0 ? codes[0] : codes[1];
    return code != 0 ? code : join(half, beside);
  }

  int solve_by_lapack() const {
    auto work = buffer<T>(1 + 4 * int64_t{n} + int64_t{n} * n);
    auto int_work = buffer<int>(3 + 5 * int64_t{n});
    std::iota(order, order + n, 1);
    return routines<T>().stedc(kColumnMajor, 'I', n, d, e, z, ld, work.data(),
                               static_cast<int>(work.size()), int_work.data(),
                               static_cast<int>(int_work.size()));
  }

  // The matrix is that of the halves plus rho u u^T, u being 1 at the last row of the one and at
  // the first of the other.
  int join(int half, T rho) const {
    Buffer room(bytes<T>(3 * int64_t{n} + 2 * int64_t{n} * n));
    auto indices = buffer<int>(4 * int64_t{n});
    T *u = room.as<T>(), *poles = u + n, *w = poles + n, *kept = w + n, *s = kept + int64_t{n} * n;
    int *index = indices.data(), *by_type = index + n, *place = by_type + n, *types = place + n;
    for (int64_t j = 0; j < n; ++j) u[j] = z[j * ld + half - (j < half ? 1 : 0)];
    clear_beside(half);
    int left = 0, code = 0;
    // Sorts, removes what is an eigenvector already, and copies the other columns: those of the
    // first half, of both and of the second one, without their zeros.
    routines<T>().laed2(&left, &n, &half, d, z, &ld, order, &rho, u, poles, w, kept, index, by_type,
                        place, types, &code);
    if (code != 0) return code;
    if (left == 0) return static_cast<void>(std::iota(order, order + n, 1)), 0;
    const Secular<T> secular{left, poles, w, rho, s, d};
    if (code = secular.find_roots(); code != 0) return code;
    if (left > 2) secular.correct();
    secular.write_vectors(by_type);
    const int64_t upper = types[0] + types[1], lower = types[1] + types[2];
    gemm(left, half, upper, T(1), {s, left, 1}, {kept, half, 1}, T(0), Mat<T>{z, ld, 1});
    gemm(left, n - half, lower, T(1), {s + types[0], left, 1}, {kept + upper * half, n - half, 1},
         T(0), Mat<T>{z + half, ld, 1});
    const int rest = n - left, forward = 1, backward = -1;
    routines<T>().lamrg(&left, &rest, d, &forward, &backward, order);
    return 0;
  }

  // The blocks of z beside those of the halves.
  void clear_beside(int64_t half) const {
    for (int64_t j = 0; j < n; ++j) {
      T* column = z + j * ld;
      j < half ? std::fill(column + half, column + n, T(0))
               : std::fill(column, column + half, T(0));
    }
  }
};

template <class T>
int solve_scaled(int n, T* d, T* e, T* z, int ld, int* order) {
  T norm(0);
  for (int i = 0; i < n; ++i)
    norm = std::max({norm, std::abs(d[i]), i + 1 < n ? std::abs(e[i]) : T(0)});
  const bool scaled = norm != T(0);
  for (int i = 0; scaled && i < n; ++i) {
    d[i] /= norm;
    if (i + 1 < n) e[i] /= norm;
  }
  const int code = Problem<T>{n, d, e, z, ld, order}.solve();
  for (int i = 0; i < n; ++i) {
    if (scaled) d[i] *= norm;
    --order[i];
  }
  return code;
}

}  // namespace

int tridiagonal_eigenvalues(int n, float* d, float* e, float* z, int ld, int* order) {
  return solve_scaled(n, d, e, z, ld, order);
}
int tridiagonal_eigenvalues(int n, double* d, double* e, double* z, int ld, int* order) {
  return solve_scaled(n, d, e, z, ld, order);
}

}  // namespace tenon::cpu::linalg
