// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/linalg/transpose.h"

#include "plugin_cpu/simd/transpose.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/linalg/transpose.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <class T>
HWY_INLINE void transpose_square(int64_t rows, int64_t columns, const T* from, int64_t from_step,
                                 T* to, int64_t to_step) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4)
      transpose_4x4(from + i * from_step + j, from_step, to + j * to_step + i, to_step);
    for (; j < columns; ++j) {
      for (int64_t q = i; q < i + 4; ++q) to[j * to_step + q] = from[q * from_step + j];
    }
  }
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * to_step + i] = from[i * from_step + j];
  }
}

// By squares whose lines stay in the first cache, along the longer side: the lines of one matrix
// there are each in another page, so they are fetched ahead.
template <class T>
void transpose_squares(int64_t rows, int64_t columns, const T* from, int64_t from_step, T* to,
                       int64_t to_step) {
  constexpr int64_t kSide = 16, kLine = 64 / static_cast<int64_t>(sizeof(T));
  const bool tall = rows >= columns;
  const int64_t longer = tall ? rows : columns, shorter = tall ? columns : rows;
  for (int64_t p = 0; p < longer; p += kSide) {
    for (int64_t q = 0; q < shorter; q += kSide) {
      for (int64_t i = p + kSide; i < std::min(longer, p + 2 * kSide); ++i) {
        for (int64_t j = q; j < std::min(shorter, q + kSide); j += kLine) {
          if (tall)
            __builtin_prefetch(from + i * from_step + j);
          else
            __builtin_prefetch(to + i * to_step + j, 1);
        }
      }
      const int64_t i = tall ? p : q, j = tall ? q : p;
      transpose_square(std::min(kSide, rows - i), std::min(kSide, columns - j),
                       from + i * from_step + j, from_step, to + j * to_step + i, to_step);
    }
  }
}

void transpose_f32(const float* from, int64_t from_step, int64_t rows, int64_t columns, float* to,
                   int64_t to_step) {
  transpose_squares(rows, columns, from, from_step, to, to_step);
}
void transpose_f64(const double* from, int64_t from_step, int64_t rows, int64_t columns, double* to,
                   int64_t to_step) {
  transpose_squares(rows, columns, from, from_step, to, to_step);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(transpose_f32);
TENON_EXPORT(transpose_f64);

namespace linalg {

void transpose(const float* from, int64_t from_step, int64_t rows, int64_t columns, float* to,
               int64_t to_step) {
  TENON_DISPATCH(transpose_f32)(from, from_step, rows, columns, to, to_step);
}
void transpose(const double* from, int64_t from_step, int64_t rows, int64_t columns, double* to,
               int64_t to_step) {
  TENON_DISPATCH(transpose_f64)(from, from_step, rows, columns, to, to_step);
}

}  // namespace linalg
}  // namespace tenon::cpu
#endif
