// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/linalg/reflectors.h"

#include "plugin_cpu/memory/buffer.h"

namespace tenon::cpu::linalg {
namespace {

constexpr int64_t kBlock = 64;

// t of the reflectors [from, from + count), upper triangular with zeros below.
template <class T>
void write_factor(const Reflectors<T>& h, int64_t from, int64_t count, T* t) {
  const int64_t column = from + h.offset;
  const T* v = h.v + from * h.ld + column;
  T overlaps[kBlock * kBlock];
  gemm(count, count, h.m - column, T(1), {v, h.ld, 1}, {v, 1, h.ld}, T(0),
       Mat<T>{overlaps, kBlock, 1});
  for (int64_t i = 0; i < count; ++i) {
    const T tau = h.tau[from + i];
    t[i * kBlock + i] = tau;
    for (int64_t r = 0; r < i; ++r) {
      T sum(0);
      for (int64_t q = r; q < i; ++q) sum += t[r * kBlock + q] * overlaps[q * kBlock + i];
      t[r * kBlock + i] = -tau * sum;
    }
  }
}

}  // namespace

template <class T>
Product<T>::Product(const Reflectors<T>& h)
    : h_(h), factors_(buffer<T>((h.count + kBlock - 1) / kBlock * kBlock * kBlock)) {
  parallel_for((h.count + kBlock - 1) / kBlock, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      write_factor(h, b * kBlock, std::min(kBlock, h.count - b * kBlock),
                   factors_.data() + b * kBlock * kBlock);
  });
}

template <class T>
void Product<T>::apply_block(int64_t from, bool transposed, int64_t rows, T* X, int64_t ld,
                             T* work) const {
  const int64_t count = std::min(kBlock, h_.count - from), column = from + h_.offset,
                n = h_.m - column;
  T* turned = work + rows * kBlock;
  const T *v = h_.v + from * h_.ld + column, *t = factors_.data() + from * kBlock;
  const Mat<const T> factor{t, kBlock, 1};
  gemm(rows, count, n, T(1), {X + column, ld, 1}, {v, 1, h_.ld}, T(0), Mat<T>{work, kBlock, 1});
  gemm(rows, count, count, T(1), {work, kBlock, 1}, transposed ? factor : factor.transposed(), T(0),
       Mat<T>{turned, kBlock, 1});
  gemm(rows, n, count, T(-1), {turned, kBlock, 1}, {v, h_.ld, 1}, T(1), Mat<T>{X + column, ld, 1});
}

template <class T>
void Product<T>::apply_first(int64_t count, int64_t rows, T* X, int64_t ld) const {
  const Buffer room(2 * rows * kBlock * static_cast<int64_t>(sizeof(T)));
  for (int64_t from = (count - 1) / kBlock * kBlock; from >= 0; from -= kBlock)
    apply_block(from, false, rows, X, ld, room.as<T>());
}

template <class T>
void Product<T>::apply_transposed(int64_t rows, T* X, int64_t ld) const {
  const Buffer room(2 * rows * kBlock * static_cast<int64_t>(sizeof(T)));
  for (int64_t from = 0; from < h_.count; from += kBlock)
    apply_block(from, true, rows, X, ld, room.as<T>());
}

template class Product<float>;
template class Product<double>;

}  // namespace tenon::cpu::linalg
