// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Matrix times vector. Included once per target.
#if defined(TENON_CPU_GEMM_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_GEMM_VECTOR_INL_H_
#undef TENON_CPU_GEMM_VECTOR_INL_H_
#else
#define TENON_CPU_GEMM_VECTOR_INL_H_
#endif

#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// y = alpha * A x + beta * y for rows of A contiguous in k: four sums per row, added in a fixed
// order.
template <class T>
void row_dots(int64_t m, int64_t k, T alpha, const T* a, int64_t rs, const T* x, T beta, T* y,
              int64_t y_step) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < m; ++i) {
    const T* row = a + i * rs;
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    int64_t p = 0;
    for (; p + 4 * lanes <= k; p += 4 * lanes) {
      s0 = hn::MulAdd(hn::LoadU(d, row + p), hn::LoadU(d, x + p), s0);
      s1 = hn::MulAdd(hn::LoadU(d, row + p + lanes), hn::LoadU(d, x + p + lanes), s1);
      s2 = hn::MulAdd(hn::LoadU(d, row + p + 2 * lanes), hn::LoadU(d, x + p + 2 * lanes), s2);
      s3 = hn::MulAdd(hn::LoadU(d, row + p + 3 * lanes), hn::LoadU(d, x + p + 3 * lanes), s3);
    }
    for (; p + lanes <= k; p += lanes)
      s0 = hn::MulAdd(hn::LoadU(d, row + p), hn::LoadU(d, x + p), s0);
    T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; p < k; ++p) sum += row[p] * x[p];
    T& out = y[i * y_step];
    out = beta == T(0) ? alpha * sum : alpha * sum + beta * out;
  }
}

// sum[i] += column p of A times x[p], for kColumns columns, in their order. `ahead`: the columns
// are so short that the processor would find the next ones too late.
template <class T, int kColumns>
HWY_INLINE void add_columns(int64_t n, const T* a, int64_t cs, const T* x, T* sum,
                            bool ahead = false) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if (ahead) {
#pragma GCC unroll 8
      for (int p = 0; p < kColumns; ++p) hwy::Prefetch(a + (p + kColumns) * cs + i);
    }
    auto s = hn::Load(d, sum + i);
#pragma GCC unroll 8
    for (int p = 0; p < kColumns; ++p)
      s = hn::MulAdd(hn::LoadU(d, a + p * cs + i), hn::Set(d, x[p]), s);
    hn::Store(s, d, sum + i);
  }
  for (; i < n; ++i) {
    for (int p = 0; p < kColumns; ++p) sum[i] += a[p * cs + i] * x[p];
  }
}

// The same for all of x and columns of kVectors vectors: their sums stay in registers, and columns
// are fetched in the order of memory, which is twice as fast where it is not in a cache.
template <class T, int kVectors>
void short_columns(int64_t k, const T* a, int64_t cs, const T* x, T* sum) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kAhead = 64 / kVectors;
  hn::Vec<decltype(d)> s[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) s[v] = hn::Zero(d);
  for (int64_t p = 0; p < k; ++p) {
    const auto factor = hn::Set(d, x[p]);
    const T *from = a + p * cs, *later = a + std::min(p + kAhead, k - 1) * cs;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      hwy::Prefetch(later + v * lanes);
      s[v] = hn::MulAdd(hn::LoadU(d, from + v * lanes), factor, s[v]);
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) hn::Store(s[v], d, sum + v * lanes);
}

// sum = A x.
template <class T>
void sum_columns(int64_t n, int64_t k, const T* a, int64_t cs, const T* x, T* sum) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;
  constexpr int64_t kShort = 1024;
  if (n == 8 * lanes) return short_columns<T, 8>(k, a, cs, x, sum);
  if (kManyRegisters && n == 12 * lanes) return short_columns<T, 12>(k, a, cs, x, sum);
  if (kManyRegisters && n == 16 * lanes) return short_columns<T, 16>(k, a, cs, x, sum);
  std::fill(sum, sum + n, T(0));
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const bool ahead = n <= kShort && p + 8 <= k;
    add_columns<T, 4>(n, a + p * cs, cs, x + p, sum, ahead);
  }
  for (; p < k; ++p) add_columns<T, 1>(n, a + p * cs, cs, x + p, sum);
}

// y = alpha * A x + beta * y for columns of A that are contiguous in m: A is read in the order of
// its memory as far as the sums stay in the first cache.
template <class T>
void column_sums(int64_t m, int64_t k, T alpha, const T* a, int64_t cs, const T* x, T beta, T* y,
                 int64_t y_step) {
  constexpr int64_t kRun = 2048;
  HWY_ALIGN T sum[kRun];
  for (int64_t i0 = 0; i0 < m; i0 += kRun) {
    const int64_t n = std::min(kRun, m - i0);
    sum_columns<T>(n, k, a + i0, cs, x, sum);
    for (int64_t i = 0; i < n; ++i) {
      T& out = y[(i0 + i) * y_step];
      out = beta == T(0) ? alpha * sum[i] : alpha * sum[i] + beta * out;
    }
  }
}

template <class T>
void vector_product(int64_t m, int64_t k, T alpha, Mat<const T> a, const T* x, int64_t x_step,
                    T beta, T* y, int64_t y_step) {
  struct Gathered;
  if (x_step != 1) {
    T* g = static_cast<T*>(ThreadBuffer<Gathered>::get(k * static_cast<int64_t>(sizeof(T))));
    for (int64_t p = 0; p < k; ++p) g[p] = x[p * x_step];
    x = g;
  }
  // An even number of parts of at least 32k multiply-adds, of whole cache lines of y: half of what
  // takes less than 5 us is not worth a second thread.
  const bool alone = m * k < 65536 || (m <= 256 && sdk::host().num_threads() == 1);
  const int64_t parts = alone ? 1 : std::max<int64_t>(2, m * k / 524288 * 2);
  const int64_t grain = ((m + parts - 1) / parts + 15) / 16 * 16;
  sdk::parallel_for(m, grain, [&](int64_t begin, int64_t end) {
    const T* block = a.data + begin * a.rs;
    T* out = y + begin * y_step;
    if (a.cs == 1)
      row_dots<T>(end - begin, k, alpha, block, a.rs, x, beta, out, y_step);
    else if (a.rs == 1)
      column_sums<T>(end - begin, k, alpha, block, a.cs, x, beta, out, y_step);
    else
      for (int64_t i = 0; i < end - begin; ++i) {
        T sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += block[i * a.rs + p * a.cs] * x[p];
        out[i * y_step] = beta == T(0) ? alpha * sum : alpha * sum + beta * out[i * y_step];
      }
  });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
