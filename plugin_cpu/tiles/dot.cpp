// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tiles by the dot products of AVX512-BF16: a line of a tile of B is one vector, 16 pairs of k, and
// a pair of A is broadcast to all lanes.
#include "plugin_cpu/tiles/unit.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define TENON_DOT_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace tenon::cpu {
namespace {

constexpr int kRows = 8;  // of a tile at a time: with two tiles of columns half of the registers

TENON_DOT_TARGET inline __m512bh pair_of(const char* a) {
  int pair;
  __builtin_memcpy(&pair, a, 4);
  return (__m512bh)_mm512_set1_epi32(pair);
}

// kRows rows of a block by C tiles of columns.
template <int C>
TENON_DOT_TARGET void multiply_rows(const TileBlock& t, const char* a, float* sum) {
  __m512 sums[kRows][C];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
      const float* from = sum + r * t.sum_row + c * kTileLines;
      sums[r][c] = t.add ? _mm512_loadu_ps(from) : _mm512_setzero_ps();
    }
  }
  const char* b = t.b;
  for (int64_t p = 0; p < t.depth; ++p, a += t.a_step, b += kTileBytes) {
#pragma GCC unroll 2
    for (int k = 0; k < kTileLines; ++k) {
      __m512bh columns[C];
#pragma GCC unroll 2
      for (int c = 0; c < C; ++c)
        columns[c] = (__m512bh)_mm512_loadu_si512(b + c * t.b_next + k * 64);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const __m512bh pair = pair_of(a + r * t.a_line + k * 4);
#pragma GCC unroll 2
        for (int c = 0; c < C; ++c) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], pair, columns[c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) _mm512_storeu_ps(sum + r * t.sum_row + c * kTileLines, sums[r][c]);
  }
}

template <int R, int C>
TENON_DOT_TARGET void block(const TileBlock& t) {
  for (int r = 0; r < R; ++r) {
    for (int64_t i = 0; i < kTileLines; i += kRows) {
      multiply_rows<C>(t, t.a + r * t.a_next + i * t.a_line,
                       t.sum + (r * kTileLines + i) * t.sum_row);
    }
  }
}

void nothing() {}

bool processor_has_it() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBFloat16 = 1u << 5;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kBFloat16);
}

}  // namespace

const TileUnit* dot_unit() {
  static constexpr TileUnit unit{nothing,
                                 nothing,
                                 {{block<1, 1>, block<1, 2>}, {block<2, 1>, block<2, 2>}},
                                 64,
                                 2 * 96 * 96 * 96};
  static const bool available = processor_has_it();
  return available ? &unit : nullptr;
}

}  // namespace tenon::cpu

#else

namespace tenon::cpu {
const TileUnit* dot_unit() { return nullptr; }
}  // namespace tenon::cpu

#endif
