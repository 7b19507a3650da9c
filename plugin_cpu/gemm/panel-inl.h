// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The register tile of float32 and float64 products, 6 rows by kVecs vectors, and panels of B
// packed for it. Included once per target.
#if defined(TENON_CPU_GEMM_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_GEMM_PANEL_INL_H_
#undef TENON_CPU_GEMM_PANEL_INL_H_
#else
#define TENON_CPU_GEMM_PANEL_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/simd/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kRows = 6;
constexpr int kVecs = HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // 24 of 32 or 12 of 16 registers hold sums

template <class T>
struct Tile {
  int64_t kc;
  const T* a;
  int64_t a_row, a_step;  // of the A panel: between rows, between steps of k
  const T* b;
  int64_t b_step;
  T alpha, beta;
  T* c;
  int64_t c_row;
  // What beta scales, with contiguous columns; null: C.
  const T* addend = nullptr;
  int64_t addend_row = 0;
  // Of the A panel: between groups of kRows rows; 0: as the rows lie.
  int64_t a_group = 0;
  // A is in no cache yet: its rows are fetched ahead, as parts of them are streams that are too
  // short for the processor to do so.
  bool fetch_a = false;
  // So is B, where it is contiguous: while rows pass by a block, the next one is fetched.
  bool fetch_b = false;
};

// Steps of k that take as long as a line of C from beyond the second cache.
constexpr int64_t kPrefetchFrom = 64;

template <class T, int R, int NV>
HWY_INLINE void micro(const Tile<T>& t) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  V acc[R][NV];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[r][v] = hn::Zero(d);
  }
  if (t.kc >= kPrefetchFrom) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) hwy::Prefetch(t.c + r * t.c_row + v * lanes);
    }
  }
  const T* row[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) row[r] = t.a + r * t.a_row;
  const T* b = t.b;
  int64_t at = 0;
  for (int64_t p = 0; p < t.kc; ++p, b += t.b_step, at += t.a_step) {
    V bv[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V av = hn::Set(d, row[r][at]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
    }
  }
  const V alpha = hn::Set(d, t.alpha), beta = hn::Set(d, t.beta);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    T* c = t.c + r * t.c_row;
    const T* addend = t.addend ? t.addend + r * t.addend_row : c;
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      V x = hn::Mul(acc[r][v], alpha);
      if (t.beta != T(0)) x = hn::MulAdd(beta, hn::LoadU(d, addend + v * lanes), x);
      hn::StoreU(x, d, c + v * lanes);
    }
  }
}

template <class T, int NV>
HWY_NOINLINE void micro_rows(int64_t rows, const Tile<T>& t) {
  switch (rows) {
    case 6:
      return micro<T, 6, NV>(t);
    case 5:
      return micro<T, 5, NV>(t);
    case 4:
      return micro<T, 4, NV>(t);
    case 3:
      return micro<T, 3, NV>(t);
    case 2:
      return micro<T, 2, NV>(t);
    default:
      return micro<T, 1, NV>(t);
  }
}

template <class T>
HWY_INLINE void micro_any(int64_t rows, int64_t vecs, const Tile<T>& t) {
  if constexpr (kVecs == 4) {
    if (vecs == 4) return micro_rows<T, 4>(rows, t);
    if (vecs == 3) return micro_rows<T, 3>(rows, t);
  }
  if (vecs == 2) return micro_rows<T, 2>(rows, t);
  return micro_rows<T, 1>(rows, t);
}

template <class T>
struct Sizes {
  // Steps of k whose panel of B stays in the first cache, 32 KiB at most, while rows pass by. They
  // are summed in a row: an error grows with the root of the steps, then with that of the blocks.
  static constexpr int64_t kDepth = kVecs == 4 ? 128 : 1024 / sizeof(T);
  // Rows whose part of C stays in the second cache between blocks of k.
  static constexpr int64_t kRowBlock = 192;
  // Steps of k that are packed together.
  static constexpr int64_t kPackDepth = 1024 / sizeof(T);
  static constexpr int64_t kColumnChunk = 4096;
};

// Rounds as MulAdd does: written as a * b + c, the compiler may or may not fuse it.
template <class T>
HWY_INLINE T add_product(T x, T y, T sum) {
#if HWY_NATIVE_FMA
  return std::fma(x, y, sum);
#else
  return x * y + sum;
#endif
}

// A tile whose columns end within a vector, or whose C has gaps: through a buffer.
template <class T>
HWY_NOINLINE void micro_edge(int64_t rows, int64_t cols, Tile<T> t, int64_t c_col) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T buffer[kRows * kVecs * HWY_MAX_BYTES / sizeof(T)];
  T* c = t.c;
  const int64_t c_row = t.c_row;
  const T beta = t.beta;
  t.c = buffer;
  t.c_row = kVecs * lanes;
  t.beta = T(0);
  micro_any<T>(rows, (cols + lanes - 1) / lanes, t);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < cols; ++j) {
      T& out = c[r * c_row + j * c_col];
      const T x = buffer[r * t.c_row + j];
      out =
          beta == T(0) ? x : add_product(beta, t.addend ? t.addend[r * t.addend_row + j] : out, x);
    }
  }
}

// The rows of A that follow these.
template <class T>
HWY_INLINE void fetch_rows(const Tile<T>& t) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t r = 0; r < kRows; ++r) {
    const T* row = t.a + t.a_group + r * t.a_row;
    for (int64_t p = 0; p < t.kc; p += kLine) hwy::Prefetch(row + p);
  }
}

// A part of the block of B that follows, into the second cache: tile i of `tiles`, but the first,
// which waits for this block.
template <class T>
HWY_INLINE void fetch_block(const Tile<T>& t, int64_t i, int64_t tiles) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t lines = t.kc * t.b_step / kLine;
  const T* next = t.b + t.kc * t.b_step;
  for (int64_t n = lines * (i - 1) / (tiles - 1); n < lines * i / (tiles - 1); ++n)
    __builtin_prefetch(next + n * kLine, 0, 2);
}

// Columns [0, cols) of one B panel against rows of A, all for one block of k.
template <class T>
HWY_INLINE void panel_block(int64_t rows, int64_t cols, Tile<T> t, int64_t c_col) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const bool whole = cols % lanes == 0 && c_col == 1;
  for (int64_t i = 0; i < rows; i += kRows) {
    const int64_t r = std::min<int64_t>(kRows, rows - i);
    if (t.fetch_a) fetch_rows(t);
    if (t.fetch_b && i > 0) fetch_block(t, i / kRows, (rows + kRows - 1) / kRows);
    if (whole)
      micro_any<T>(r, cols / lanes, t);
    else
      micro_edge<T>(r, cols, t, c_col);
    t.a += t.a_group;
    t.c += kRows * t.c_row;
    if (t.addend) t.addend += kRows * t.addend_row;
  }
}

// Columns [0, cols) of one B panel against `rows` rows of A, `run` rows by all blocks of k before
// the next ones. A that is read once goes by kRows: more rows at a time are more streams than a
// processor fetches ahead.
template <class T>
HWY_INLINE void panel(int64_t rows, int64_t cols, Tile<T> t, int64_t c_col,
                      int64_t run = Sizes<T>::kRowBlock) {
  using S = Sizes<T>;
  if (t.a_group == 0) t.a_group = kRows * t.a_row;
  if (t.kc <= S::kDepth) return panel_block<T>(rows, cols, t, c_col);
  for (int64_t i = 0; i < rows; i += run) {
    Tile<T> now = t;
    now.a += i / kRows * t.a_group;
    now.c += i * t.c_row;
    if (t.addend) now.addend += i * t.addend_row;
    for (int64_t left = t.kc; left > 0; left -= now.kc) {
      now.kc = std::min(S::kDepth, left);
      panel_block<T>(std::min(run, rows - i), cols, now, c_col);
      now.a += now.kc * t.a_step;
      now.b += now.kc * t.b_step;
      now.beta = T(1);
      now.addend = nullptr;
    }
  }
}

template <class T>
int64_t panel_width() {
  return kVecs * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

// Columns of B that are contiguous in k, for steps [p0, p1).
template <class T>
void transpose_columns(int64_t p0, int64_t p1, int64_t cols, int64_t width, const T* b, int64_t cs,
                       T* dst) {
  int64_t j = 0;
  if constexpr (std::is_same_v<T, float>) {
    for (; j + 4 <= cols; j += 4) {
      int64_t p = p0;
      for (; p + 4 <= p1; p += 4) transpose_4x4(b + j * cs + p, cs, dst + p * width + j, width);
      for (; p < p1; ++p) {
        for (int64_t q = j; q < j + 4; ++q) dst[p * width + q] = b[q * cs + p];
      }
    }
  }
  for (; j < cols; ++j) {
    for (int64_t p = p0; p < p1; ++p) dst[p * width + j] = b[j * cs + p];
  }
}

// dst[p][j], `width` apart, zeros from `cols` on.
template <class T>
void pack_b(int64_t kc, int64_t cols, int64_t width, const T* b, int64_t rs, int64_t cs, T* dst) {
  if (cs == 1 && cols == kVecs * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()))) {
    const hn::ScalableTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t p = 0; p < kc; ++p) {
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v)
        hn::StoreU(hn::LoadU(d, b + p * rs + v * lanes), d, dst + p * width + v * lanes);
    }
    return;
  }
  if (cs == 1) {
    for (int64_t p = 0; p < kc; ++p) {
      std::memcpy(dst + p * width, b + p * rs, static_cast<size_t>(cols) * sizeof(T));
      std::fill(dst + p * width + cols, dst + (p + 1) * width, T(0));
    }
    return;
  }
  const int64_t kStep = rs == 1 ? 64 : 16;  // steps of k whose lines stay in the first cache
  for (int64_t p0 = 0; p0 < kc; p0 += kStep) {
    const int64_t p1 = std::min(kc, p0 + kStep);
    if (rs == 1) {
      transpose_columns(p0, p1, cols, width, b, cs, dst);
    } else {
      for (int64_t j = 0; j < cols; ++j) {
        for (int64_t p = p0; p < p1; ++p) dst[p * width + j] = b[p * rs + j * cs];
      }
    }
    for (int64_t p = p0; p < p1; ++p)
      std::fill(dst + p * width + cols, dst + (p + 1) * width, T(0));
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
