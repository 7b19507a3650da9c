// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/linalg/trailing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/linalg/trailing.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns that are read together.
inline constexpr int kColumns = 8;

// A few columns from one row on; those that are missing are the last one again.
template <class T>
struct Columns {
  const T* at[kColumns];
  Columns(const T* a, int64_t ld, int64_t row, int64_t first, int64_t count) {
    for (int c = 0; c < kColumns; ++c)
      at[c] = a + (first + std::min<int64_t>(c, count - 1)) * ld + row;
  }
};

// sums[c] = columns[c] . v
template <class T>
void column_dots(int64_t rows, const Columns<T>& columns, const T* HWY_RESTRICT v, T* sums) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = rows / lanes * lanes;
  hn::Vec<decltype(d)> sum[kColumns];
  for (auto& s : sum) s = hn::Zero(d);
  for (int64_t i = 0; i < whole; i += lanes) {
    const auto x = hn::LoadU(d, v + i);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c)
      sum[c] = hn::MulAdd(hn::LoadU(d, columns.at[c] + i), x, sum[c]);
  }
  for (int c = 0; c < kColumns; ++c) {
    sums[c] = hn::GetLane(hn::SumOfLanes(d, sum[c]));
    for (int64_t i = whole; i < rows; ++i) sums[c] += columns.at[c][i] * v[i];
  }
}

// y += columns * z
template <class T>
void add_columns(int64_t rows, const Columns<T>& columns, const T* z, T* HWY_RESTRICT y) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = rows / lanes * lanes;
  hn::Vec<decltype(d)> factor[kColumns];
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) factor[c] = hn::Set(d, z[c]);
  for (int64_t i = 0; i < whole; i += lanes) {
    auto even = hn::LoadU(d, y + i), odd = hn::Zero(d);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; c += 2) {
      even = hn::MulAdd(hn::LoadU(d, columns.at[c] + i), factor[c], even);
      odd = hn::MulAdd(hn::LoadU(d, columns.at[c + 1] + i), factor[c + 1], odd);
    }
    hn::StoreU(hn::Add(even, odd), d, y + i);
  }
  for (int64_t i = whole; i < rows; ++i) {
    for (int c = 0; c < kColumns; ++c) y[i] += columns.at[c][i] * z[c];
  }
}

// Both at once: y += columns * z, sums[c] = columns[c] . v.
template <class T>
void add_and_dot(int64_t rows, const Columns<T>& columns, const T* z, T* HWY_RESTRICT y,
                 const T* HWY_RESTRICT v, T* sums) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = rows / lanes * lanes;
  hn::Vec<decltype(d)> factor[kColumns], sum[kColumns];
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
    factor[c] = hn::Set(d, z[c]);
    sum[c] = hn::Zero(d);
  }
  for (int64_t i = 0; i < whole; i += lanes) {
    const auto x = hn::LoadU(d, v + i);
    auto even = hn::LoadU(d, y + i), odd = hn::Zero(d);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; c += 2) {
      const auto first = hn::LoadU(d, columns.at[c] + i),
                 second = hn::LoadU(d, columns.at[c + 1] + i);
      even = hn::MulAdd(first, factor[c], even);
      odd = hn::MulAdd(second, factor[c + 1], odd);
      sum[c] = hn::MulAdd(first, x, sum[c]);
      sum[c + 1] = hn::MulAdd(second, x, sum[c + 1]);
    }
    hn::StoreU(hn::Add(even, odd), d, y + i);
  }
  for (int c = 0; c < kColumns; ++c) {
    sums[c] = hn::GetLane(hn::SumOfLanes(d, sum[c]));
    for (int64_t i = whole; i < rows; ++i) {
      y[i] += columns.at[c][i] * z[c];
      sums[c] += columns.at[c][i] * v[i];
    }
  }
}

// out[i] = the sum of what the parts have at i.
template <class T>
void sum_parts(int64_t begin, int64_t end, int64_t stride, const T* parts, T* out) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    auto sum = hn::LoadU(d, parts + i);
#pragma GCC unroll 8
    for (int64_t p = 1; p < linalg::kParts; ++p)
      sum = hn::Add(sum, hn::LoadU(d, parts + p * stride + i));
    hn::StoreU(sum, d, out + i);
  }
  for (; i < end; ++i) {
    out[i] = parts[i];
    for (int64_t p = 1; p < linalg::kParts; ++p) out[i] += parts[p * stride + i];
  }
}

// y += A x for a few whole columns of as many rows.
template <class T>
void add_square(int64_t count, const Columns<T>& columns, const T* z, T* y) {
  const hn::CappedTag<T, kColumns> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  if (count < kColumns) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < count; ++c) y[i] += columns.at[c][i] * z[c];
    }
    return;
  }
  for (int64_t i = 0; i < kColumns; i += kLanes) {
    auto sum = hn::LoadU(d, y + i);
    for (int c = 0; c < kColumns; ++c)
      sum = hn::MulAdd(hn::LoadU(d, columns.at[c] + i), hn::Set(d, z[c]), sum);
    hn::StoreU(sum, d, y + i);
  }
}

// `count` columns from `first` on, and the rows that mirror them.
template <class T>
void symmetric_columns(const linalg::SymmetricProduct<T>& p, int64_t first, int64_t count, T* y) {
  const int64_t below = first + count;
  T factor[kColumns] = {}, sums[kColumns];
  for (int64_t c = 0; c < count; ++c) factor[c] = p.x[first + c];
  add_square<T>(count, Columns<T>(p.a, p.ld, first, first, count), factor, y + first);
  const Columns<T> columns(p.a, p.ld, below, first, count);
  add_and_dot<T>(p.n - below, columns, factor, y + below, p.x + below, sums);
  for (int64_t c = 0; c < count; ++c) y[first + c] += sums[c];
}

template <class T>
void symmetric_product(const linalg::SymmetricProduct<T>& p) {
  const int64_t rows = p.n - p.begin;
  linalg::over_parts(rows * rows, [&](int64_t part) {
    T* y = p.parts + part * p.n;
    std::fill(y + p.begin, y + p.n, T(0));
    linalg::over_columns(part, p.begin, p.n, [&](int64_t first, int64_t end) {
      for (int64_t c = first; c < end; c += kColumns)
        symmetric_columns<T>(p, c, std::min<int64_t>(kColumns, end - c), y);
    });
  });
  sum_parts<T>(p.begin, p.n, p.n, p.parts, p.y);
}

template <class T>
void step_columns(const linalg::BidiagonalStep<T>& s, int64_t first, int64_t count, T* x) {
  const Columns<T> columns(s.a, s.ld, s.row, first, count);
  T sums[kColumns], z[kColumns] = {};
  column_dots<T>(s.m - s.row, columns, s.v + s.row, sums);
  for (int64_t c = 0; c < count; ++c) {
    T& y = s.y[first + c];
    y = s.tau * (sums[c] - y);
    s.z[first + c] = z[c] = columns.at[c][0] - s.z[first + c] - y;
  }
  const Columns<T> below(s.a, s.ld, s.row + 1, first, count);
  add_columns<T>(s.m - s.row - 1, below, z, x + s.row + 1);
}

template <class T>
void bidiagonal_step(const linalg::BidiagonalStep<T>& s) {
  linalg::over_parts(2 * (s.m - s.row) * (s.n - s.column), [&](int64_t part) {
    T* x = s.parts + part * s.m;
    std::fill(x + s.row + 1, x + s.m, T(0));
    linalg::over_columns(part, s.column, s.n, [&](int64_t first, int64_t end) {
      for (int64_t c = first; c < end; c += kColumns)
        step_columns<T>(s, c, std::min<int64_t>(kColumns, end - c), x);
    });
  });
  sum_parts<T>(s.row + 1, s.m, s.m, s.parts, s.x);
}

void symmetric_f32(const linalg::SymmetricProduct<float>& p) { symmetric_product(p); }
void symmetric_f64(const linalg::SymmetricProduct<double>& p) { symmetric_product(p); }
void bidiagonal_f32(const linalg::BidiagonalStep<float>& s) { bidiagonal_step(s); }
void bidiagonal_f64(const linalg::BidiagonalStep<double>& s) { bidiagonal_step(s); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(symmetric_f32);
TENON_EXPORT(symmetric_f64);
TENON_EXPORT(bidiagonal_f32);
TENON_EXPORT(bidiagonal_f64);

namespace linalg {

void multiply(const SymmetricProduct<float>& p) { TENON_DISPATCH(symmetric_f32)(p); }
void multiply(const SymmetricProduct<double>& p) { TENON_DISPATCH(symmetric_f64)(p); }
void run(const BidiagonalStep<float>& s) { TENON_DISPATCH(bidiagonal_f32)(s); }
void run(const BidiagonalStep<double>& s) { TENON_DISPATCH(bidiagonal_f64)(s); }

}  // namespace linalg
}  // namespace tenon::cpu
#endif
