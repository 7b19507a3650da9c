// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What float attention does with a block of scores, 96 queries by 256 keys: the products before and
// after it by packed panels, and powers of two in place of exponentials. Included once per target.
#if defined(TENON_CPU_ATTENTION_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_ATTENTION_BLOCKS_INL_H_
#undef TENON_CPU_ATTENTION_BLOCKS_INL_H_
#else
#define TENON_CPU_ATTENTION_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "plugin_cpu/gemm/panel-inl.h"
#include "plugin_cpu/rowwise/attention.h"
#include "plugin_cpu/rowwise/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kQueryBlock = 96, kKeyBlock = 256, kPanelColumns = 64;  // the widest panel
constexpr float kLog2OfE = 1.44269504f;

constexpr int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// B of `depth` steps of k in panels of panel_width<float>() columns.
struct Panels {
  const float* at;
  int64_t depth;
  Panels columns_from(int64_t j) const { return {at + j * depth, depth}; }  // of a whole panel
  Panels steps_from(int64_t p) const { return {at + p * panel_width<float>(), depth}; }
};

constexpr int64_t panels_size(int64_t columns, int64_t depth) {
  return rounded_up(columns, kPanelColumns) * depth;
}

// Of B[p][j] = from[p * step + j * column], packed to `to`.
HWY_INLINE Panels pack_panels(int64_t columns, int64_t depth, const float* from, int64_t step,
                              int64_t column, float* to) {
  const int64_t width = panel_width<float>();
  for (int64_t j = 0; j < columns; j += width) {
    pack_b(depth, std::min(width, columns - j), width, from + j * column, step, column,
           to + j * depth);
  }
  return {to, depth};
}

// C = A B + beta C, A[i][p] = a[i * a_row + p * a_step], of kc steps.
// Columns are rounded up to whole vectors, for which C has room.
HWY_INLINE void multiply(int64_t rows, int64_t columns, int64_t kc, const float* a, int64_t a_row,
                         int64_t a_step, const Panels& b, float beta, float* c, int64_t c_row) {
  const int64_t width = panel_width<float>(), lanes = width / kVecs;
  for (int64_t j = 0; j < columns; j += width) {
    const Tile<float> t{kc, a, a_row, a_step, b.at + j * b.depth, width, 1.0f, beta, c + j, c_row};
    panel<float>(rows, std::min(width, rounded_up(columns - j, lanes)), t, 1);
  }
}

// rows x columns elements, contiguous, times `factor`.
HWY_INLINE void copy_rows(int64_t rows, int64_t columns, const float* from, const int64_t* stride,
                          float factor, float* to) {
  for (int64_t i = 0; i < rows; ++i, from += stride[2], to += columns) {
    if (stride[3] == 1) {
      for (int64_t j = 0; j < columns; ++j) to[j] = from[j] * factor;
    } else {
      for (int64_t j = 0; j < columns; ++j) to[j] = from[j * stride[3]] * factor;
    }
  }
}

// Scores of a row of queries in units of log2(e): with a bias they are given in units of 1, and
// `bias` is that of key 0, `step` apart.
HWY_INLINE void add_row_bias(float* x, int64_t n, const float* bias, int64_t step) {
  if (step == 1) {
    for (int64_t j = 0; j < n; ++j) x[j] = (x[j] + bias[j]) * kLog2OfE;
  } else {
    for (int64_t j = 0; j < n; ++j) x[j] = (x[j] + bias[j * step]) * kLog2OfE;
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
