// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Transposing small squares of elements of 32 or 64 bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tenon::cpu {

// dst[p][j] = src[j][p] for four of each, with the given steps between rows.
template <class T>
inline __attribute__((always_inline)) void transpose_4x4(const T* src, int64_t src_step, T* dst,
                                                         int64_t dst_step) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes of 32 or 64 bits");
  constexpr int kBytes = 4 * sizeof(T);
  typedef std::conditional_t<sizeof(T) == 4, float, double> Four
      __attribute__((vector_size(kBytes)));
  Four a, b, c, d;
  std::memcpy(&a, src, kBytes);
  std::memcpy(&b, src + src_step, kBytes);
  std::memcpy(&c, src + 2 * src_step, kBytes);
  std::memcpy(&d, src + 3 * src_step, kBytes);
  const Four ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four rows[4] = {
      __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5), __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7),
      __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5), __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7)};
  for (int r = 0; r < 4; ++r) std::memcpy(dst + r * dst_step, &rows[r], kBytes);
}

}  // namespace tenon::cpu
