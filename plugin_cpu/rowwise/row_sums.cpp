// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/rowwise/row_sums.h"

#include <algorithm>

#include "plugin_cpu/memory/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/row_sums.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Rows {
  const T* const* row;
  const T* factors;
  int64_t n, ahead;
  using D = hn::ScalableTag<T>;

  // `kVectors` neighboring vectors of the sum stay in registers; the first pass prefetches.
  template <int kVectors>
  HWY_INLINE void sum(int64_t at, int64_t width, T* to) const {
    constexpr int64_t kAhead = 16;
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    hn::Vec<D> acc[kVectors];
    for (auto& a : acc) a = hn::Zero(d);
    for (int64_t i = 0; i < n; ++i) {
      if (at == 0 && i + kAhead < n + ahead)
        prefetch_row(reinterpret_cast<const char*>(row[i + kAhead]),
                     width * static_cast<int64_t>(sizeof(T)));
      const T* from = row[i] + at;
      if (factors) {
        const auto f = hn::Set(d, factors[i]);
        for (int v = 0; v < kVectors; ++v)
          acc[v] = hn::Add(acc[v], hn::Mul(f, hn::LoadU(d, from + v * lanes)));
      } else {
        for (int v = 0; v < kVectors; ++v) acc[v] = hn::Add(acc[v], hn::LoadU(d, from + v * lanes));
      }
    }
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[v], d, to + at + v * lanes);
  }

  HWY_INLINE void all(int64_t width, T* to) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    int64_t k = 0;
    for (; k + 8 * lanes <= width; k += 8 * lanes) sum<8>(k, width, to);
    for (; k + 2 * lanes <= width; k += 2 * lanes) sum<2>(k, width, to);
    for (; k + lanes <= width; k += lanes) sum<1>(k, width, to);
    for (; k < width; ++k) {
      T a = 0;
      for (int64_t i = 0; i < n; ++i) a += factors ? factors[i] * row[i][k] : row[i][k];
      to[k] = a;
    }
  }
};

void sum_floats(const float* const* rows, const float* factors, int64_t n, int64_t ahead,
                int64_t width, float* to) {
  Rows<float>{rows, factors, n, ahead}.all(width, to);
}
void sum_doubles(const double* const* rows, const double* factors, int64_t n, int64_t ahead,
                 int64_t width, double* to) {
  Rows<double>{rows, factors, n, ahead}.all(width, to);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(sum_floats);
TENON_EXPORT(sum_doubles);
void sum_rows(const float* const* rows, const float* factors, int64_t n, int64_t ahead,
              int64_t width, float* to) {
  TENON_DISPATCH(sum_floats)(rows, factors, n, ahead, width, to);
}
void sum_rows(const double* const* rows, const double* factors, int64_t n, int64_t ahead,
              int64_t width, double* to) {
  TENON_DISPATCH(sum_doubles)(rows, factors, n, ahead, width, to);
}

}  // namespace tenon::cpu
#endif
