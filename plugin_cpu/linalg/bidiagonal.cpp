// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// By blocks of columns and rows; for each pair the trailing matrix is read once.
#include "plugin_cpu/linalg/bidiagonal.h"

#include "plugin_cpu/linalg/reflectors.h"
#include "plugin_cpu/linalg/trailing.h"

namespace tenon::cpu::linalg {
namespace {

constexpr int64_t kBlock = 32;

template <class T>
struct Reduction : Bidiagonal<T> {
  using Bidiagonal<T>::m;
  using Bidiagonal<T>::n;
  Update<T> update{m, n, 2 * kBlock};
  std::vector<T> parts = buffer<T>(kParts * m);

  explicit Reduction(const Bidiagonal<T>& b) : Bidiagonal<T>(b) {}

  T* column(int64_t j) { return this->a + j * this->ld; }

  // The reflectors of column j and of row j, and what the trailing matrix loses: v y^T + x u^T.
  void reduce(int64_t j) {
    T* v = column(j);
    const int64_t at = update.size(), next = j + 1;
    update.subtract_column(j, j, v);
    this->d[j] = make_reflector(m - j, v + j, this->tau_left[j]);
    std::fill(v, v + j, T(0));
    if (next == n) return;
    T *u = this->right + j * this->right_ld, *y = update.right(at), *x = update.left(at + 1);
    update.transposed_product(v, j, next, y);
    update.row(j, next, u);
    run(BidiagonalStep<T>{this->a, this->ld, m, n, j, next, v, this->tau_left[j], y, u, x,
                          parts.data()});
    std::copy_n(v, m, update.left(at));
    std::fill(y, y + next, T(0));
    update.grow(1);
    const T first = u[next], value = make_reflector(n - next, u + next, this->tau_right[j]);
    this->e[j] = value;
    std::fill(u, u + next, T(0));
    write_product(u, first, value, next, x);
    update.subtract_product(u, next, next, x);
    for (int64_t i = next; i < m; ++i) x[i] *= this->tau_right[j];
    std::fill(x, x + next, T(0));
    std::copy_n(u, n, update.right(at + 1));
    update.grow(1);
  }

  // x = A u in rows [next, m), by way of A z, since z - value e_1 is (first - value) u.
  void write_product(const T* u, T first, T value, int64_t next, T* x) {
    const T* c = column(next);
    if (constexpr T kSmall = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
        std::abs(value) < kSmall)  // too few digits are left
      return gemm(m - next, 1, n - next, T(1), {c + next, 1, this->ld}, {u + next, 1, 1}, T(0),
                  Mat<T>{x + next, 1, 1});
    if (first == value) return static_cast<void>(std::copy(c + next, c + m, x + next));
    const T scale = 1 / (first - value);
    for (int64_t i = next; i < m; ++i) x[i] = (x[i] - value * c[i]) * scale;
  }

  void reduce_all() {
    for (int64_t j = 0; j < n; ++j) {
      reduce(j);
      if (update.size() == 2 * kBlock) update.subtract_from(this->a, this->ld, j + 1, false);
    }
  }
};

}  // namespace

void to_bidiagonal(const Bidiagonal<float>& b) { Reduction<float>(b).reduce_all(); }
void to_bidiagonal(const Bidiagonal<double>& b) { Reduction<double>(b).reduce_all(); }

}  // namespace tenon::cpu::linalg
