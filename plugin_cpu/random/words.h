// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The Philox stream in bulk.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/sdk/kernel.h"

namespace tenon::cpu {

// out[i] = word 4 * first + i of the stream, for 4 * blocks words; `out` is 64-byte aligned.
void philox_blocks(uint64_t seed, uint64_t first, int64_t blocks, uint32_t* out);

// Elements per parallel block; whole Philox blocks for any word count.
inline constexpr int64_t kRandomGrain = 1 << 13;

inline constexpr int64_t kRandomRun = 1024;

// f(first element, count, words) over runs of elements that take `per` words each; `words` holds
// those of the run. Runs start at even elements.
template <class F>
void each_random(const sdk::Generator& g, int64_t n, int per, F&& f) {
  sdk::parallel_for(n, kRandomGrain, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t words[kRandomRun * 2 + 128] = {};  // past the end: for whole vectors
    for (int64_t i = begin; i < end; i += kRandomRun) {
      const int64_t count = std::min(kRandomRun, end - i), blocks = (count * per + 3) / 4;
      philox_blocks(g.seed(), g.offset() + static_cast<uint64_t>(i * per / 4), blocks, words);
      f(i, count, static_cast<const uint32_t*>(words));
    }
  });
}

// The first word is the high half.
inline uint64_t wide_word(const uint32_t* words, int64_t i) {
  return static_cast<uint64_t>(words[2 * i]) << 32 | words[2 * i + 1];
}

}  // namespace tenon::cpu
