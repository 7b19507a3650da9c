// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Matrices with padding between their rows, from and to row-major ones without.
#pragma once

#include <cstdint>

#include "plugin_cpu/linalg/batches.h"
#include "plugin_cpu/memory/buffer.h"

namespace tenon::cpu::linalg {

// Between rows of so many numbers; no multiple of a page, so that columns do not share cache sets.
inline int64_t padded(int64_t n) { return n + 16; }

inline constexpr int64_t kRows = 128;  // that a thread takes at a time

// Rows of a matrix with padding between them; their contents are undefined at first.
template <class T>
struct Padded {
  Padded(int64_t count, int64_t length)
      : ld(padded(length)),
        memory(count * ld * static_cast<int64_t>(sizeof(T))),
        count(count),
        length(length) {}
  T* row(int64_t r) const { return memory.template as<T>() + r * ld; }
  // Row-major, or transposed.
  void read(const T* from, bool transposed) {
    parallel_for(count, kRows, [&](int64_t begin, int64_t end) {
      if (transposed) return transpose(from + begin, count, length, end - begin, row(begin), ld);
      for (int64_t r = begin; r < end; ++r) std::copy_n(from + r * length, length, row(r));
    });
  }
  void scale(T factor) {
    for (int64_t r = 0; factor != T(1) && r < count; ++r)
      std::transform(row(r), row(r) + length, row(r), [=](T v) { return v * factor; });
  }
  int64_t ld;
  Buffer memory;
  int64_t count, length;
};

// Rows [begin, end) of `from` to a row-major matrix of `rows` rows, or to its transposed one.
template <class T>
void write(const T* from, int64_t ld, int64_t begin, int64_t end, int64_t rows, int64_t length,
           bool transposed, T* to) {
  if (transposed) return transpose(from, ld, end - begin, length, to + begin, rows);
  for (int64_t r = begin; r < end; ++r)
    std::copy_n(from + (r - begin) * ld, length, to + r * length);
}

}  // namespace tenon::cpu::linalg
