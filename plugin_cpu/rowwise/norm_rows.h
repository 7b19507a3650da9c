// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What normalizations of rows share: how rows become blocks, and sums over rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "plugin_cpu/memory/floats.h"
#include "plugin_cpu/rowwise/moments.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/parallel.h"

namespace tenon::cpu {

inline int64_t product(sdk::Ints v) {
  int64_t n = 1;
  for (int64_t i : v) n *= i;
  return n;
}

// Whether a result of so many elements leaves the caches before it is read, so that fetching its
// lines for writing is wasted. Those of 16 bits are written through a buffer.
template <class T>
bool passes_caches(int64_t numel) {
  constexpr int64_t kBytes = 32 << 20;
  return std::is_same_v<T, Wide<T>> && numel * static_cast<int64_t>(sizeof(T)) >= kBytes;
}

// Rows of n elements in at most 16 blocks of a size that depends on nothing else: each block has
// sums of its own.
struct RowBlocks {
  int64_t block, blocks;
};
inline RowBlocks blocks_of_rows(int64_t rows, int64_t n) {
  const int64_t block = std::max(row_grain(n), (rows + 15) / 16);
  return {block, (rows + block - 1) / block};
}

// Adds `blocks` runs of n sums, `step` apart, one after the other, and rounds once.
template <class T, class C>
void add_blocks(T* out, const C* parts, int64_t blocks, int64_t step, int64_t n) {
  sdk::parallel_for(n, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      C sum = 0;
      for (int64_t q = 0; q < blocks; ++q) sum += parts[q * step + j];
      out[j] = T(sum);
    }
  });
}

}  // namespace tenon::cpu
