// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// By blocks of columns: half of the operations are a product with the trailing matrix for each
// column, the other half one product of matrices for each block. (Dongarra, Sorensen, Hammarling:
// Block reduction of matrices to condensed forms for eigenvalue computations.)
#include "plugin_cpu/linalg/tridiagonal.h"

#include "plugin_cpu/linalg/reflectors.h"
#include "plugin_cpu/linalg/trailing.h"

namespace tenon::cpu::linalg {
namespace {

constexpr int64_t kBlock = 32;

template <class T>
struct Reduction {
  int64_t n;
  T* a;
  int64_t ld;
  T *d, *e, *tau;
  Update<T> update{n, n, 2 * kBlock};
  std::vector<T> parts = buffer<T>(kParts * n);

  T* column(int64_t j) { return a + j * ld; }

  // The vectors v and w of column j: the trailing matrix loses v w^T + w v^T.
  void reduce_column(int64_t j) {
    T* v = column(j);
    update.subtract_column(j, j, v);
    d[j] = v[j];
    if (j == n - 1) return;
    const int64_t at = update.size(), begin = j + 1;
    e[j] = make_reflector(n - begin, v + begin, tau[j]);
    std::fill(v, v + begin, T(0));
    T* w = update.left(at + 1);
    std::fill(w, w + begin, T(0));
    multiply(SymmetricProduct<T>{a, ld, n, begin, v, w, parts.data()});
    update.subtract_product(v, begin, begin, w);
    for (int64_t i = begin; i < n; ++i) w[i] *= tau[j];
    const T half = tau[j] / 2 * dot(n - begin, v + begin, w + begin);
    for (int64_t i = begin; i < n; ++i) w[i] -= half * v[i];
    std::copy_n(v, n, update.left(at));
    std::copy_n(w, n, update.right(at));
    std::copy_n(v, n, update.right(at + 1));
    update.grow(2);
  }

  void mirror_squares() {
    over_parts(0, [&](int64_t part) {
      over_columns(part, 0, n, [&](int64_t first, int64_t end) {
        for (int64_t j = first; j < end; ++j) {
          for (int64_t i = first; i < j; ++i) column(j)[i] = column(i)[j];
        }
      });
    });
  }

  void run() {
    mirror_squares();
    for (int64_t j = 0; j < n; ++j) {
      reduce_column(j);
      if (update.size() == 2 * kBlock) update.subtract_from(a, ld, j + 1, true);
    }
  }
};

}  // namespace

void to_tridiagonal(int64_t n, float* a, int64_t ld, float* d, float* e, float* tau) {
  Reduction<float>{n, a, ld, d, e, tau}.run();
}
void to_tridiagonal(int64_t n, double* a, int64_t ld, double* d, double* e, double* tau) {
  Reduction<double>{n, a, ld, d, e, tau}.run();
}

}  // namespace tenon::cpu::linalg
