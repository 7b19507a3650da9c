// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// to[j * to_step + i] = from[i * from_step + j], on the calling thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tenon::cpu::linalg {

void transpose(const float* from, int64_t from_step, int64_t rows, int64_t columns, float* to,
               int64_t to_step);
void transpose(const double* from, int64_t from_step, int64_t rows, int64_t columns, double* to,
               int64_t to_step);

// Of complex numbers, by squares that stay in the first cache.
template <class T>
void transpose(const T* from, int64_t from_step, int64_t rows, int64_t columns, T* to,
               int64_t to_step) {
  constexpr int64_t kSide = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kSide) {
    const int64_t i1 = std::min(i0 + kSide, rows);
    for (int64_t j0 = 0; j0 < columns; j0 += kSide) {
      const int64_t j1 = std::min(j0 + kSide, columns);
      for (int64_t j = j0; j < j1; ++j)
        for (int64_t i = i0; i < i1; ++i) to[j * to_step + i] = from[i * from_step + j];
    }
  }
}

}  // namespace tenon::cpu::linalg
