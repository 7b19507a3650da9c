// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_sparse/cpu/keys.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tenon::coo::loops {
namespace {

constexpr int64_t kNumbered = 4096;  // elements per block, when keys are computed
constexpr int64_t kSorted = 65536;   // minimum of elements per block, when keys are sorted
constexpr int64_t kMaxBlocks = 64;   // of a sort: each has counters
constexpr int64_t kCompared = 256;   // fewer are sorted by comparison
// bits: as many streams are written at a time as the first cache has lines for
constexpr int kDigit = 8;

int width_of(uint64_t v) { return v == 0 ? 0 : 64 - __builtin_clzll(v); }
int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

[[noreturn]] void throw_bad_index(const int64_t* indices, int64_t n, Ints sizes) {
  for (int64_t d = 0; d < sizes.size(); ++d) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = indices[d * n + i];
      if (at < 0 || at >= sizes[d])
        throw Error(TN_ERROR_INDEX, "index ", at, " in column ", i,
                    " of the indices is out of bounds for dimension ", d, " of size ", sizes[d]);
    }
  }
  throw Error(TN_ERROR_INDEX, "indices changed while they were read");
}

// The sign bit of the bitwise or tells whether any is negative; every instruction set vectorizes
// this.
bool negative(uint64_t v) { return static_cast<int64_t>(v) < 0; }

// Numbers of columns [begin, end) of n; false where an index is outside of sizes.
bool key_block(const int64_t* indices, int64_t n, Ints sizes, int64_t begin, int64_t end,
               uint64_t* out) {
  uint64_t signs = 0;
  if (sizes.empty()) std::fill(out, out + (end - begin), uint64_t{0});
  for (int64_t d = 0; d < sizes.size(); ++d) {
    const auto size = static_cast<uint64_t>(sizes[d]);
    const int64_t* at = indices + d * n;
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<uint64_t>(at[i]);
      signs |= index | (size - 1 - index);
      out[i - begin] = (d == 0 ? 0 : out[i - begin] * size) + index;
    }
  }
  return !negative(signs);
}

// Flags of all keys, combined from blocks in any order.
struct KeyFlags {
  std::atomic<uint64_t> differing{0};
  std::atomic<bool> ascending{true}, strict{true}, bad{false};
};

uint64_t digit_source(uint64_t e) { return e; }
uint64_t digit_source(const Pair& e) { return e.key; }

// The digit of each element, counted per block; prefix sums turn the counters into output
// positions.
template <class E>
struct Pass {
  const E* from;
  E* to;
  int64_t n, block;
  int shift, width;
  std::vector<int64_t>& counts;

  uint64_t digit(const E& e) const {
    return digit_source(e) >> shift & ((uint64_t{1} << width) - 1);
  }
  int64_t* counters(int64_t begin) const { return counts.data() + (begin / block << width); }

  void run() const {
    const int64_t blocks = divide_up(n, block), digits = int64_t{1} << width;
    std::fill(counts.begin(), counts.begin() + blocks * digits, int64_t{0});
    parallel_for(n, block, [&](int64_t begin, int64_t end) {
      int64_t* c = counters(begin);
      for (int64_t i = begin; i < end; ++i) ++c[digit(from[i])];
    });
    int64_t sum = 0;
    for (int64_t d = 0; d < digits; ++d) {
      for (int64_t b = 0; b < blocks; ++b)
        sum += std::exchange(counts[static_cast<std::size_t>(b * digits + d)], sum);
    }
    parallel_for(n, block, [&](int64_t begin, int64_t end) {
      int64_t* c = counters(begin);
      for (int64_t i = begin; i < end; ++i) to[c[digit(from[i])]++] = from[i];
    });
  }
};

// Radix sort by the differing bits, from the lowest up; stable. Returns a or b.
template <class E>
const E* radix(E* a, E* b, int64_t n, uint64_t differing) {
  if (differing == 0) return a;
  if (n < kCompared) {
    std::sort(a, a + n);
    return a;
  }
  const int low = __builtin_ctzll(differing), bits = width_of(differing) - low;
  const int passes = (bits + kDigit - 1) / kDigit, width = (bits + passes - 1) / passes;
  const int64_t block = std::max(kSorted, divide_up(n, kMaxBlocks));
  std::vector<int64_t> counts(static_cast<std::size_t>(divide_up(n, block)) << width);
  for (int p = 0; p < passes; ++p) {
    Pass<E>{a, b, n, block, low + p * width, width, counts}.run();
    std::swap(a, b);
  }
  return a;
}

}  // namespace

Numbers compute_keys(Ops& op, const Tensor& indices, Ints sizes, bool positions) {
  const int64_t n = indices.size(1), *at = indices.data<const int64_t>();
  uint64_t count = 1;
  for (int64_t s : sizes) count *= static_cast<uint64_t>(std::max<int64_t>(s, 1));
  const int position_bits =
      positions ? width_of(static_cast<uint64_t>(std::max<int64_t>(n - 1, 0))) : 0;
  Numbers out{scratch<uint64_t>(op, n),
              n,
              width_of(count - 1) + position_bits > 64 ? -1 : position_bits,
              0,
              true,
              true};
  KeyFlags flags;
  uint64_t first = 0;
  if (n > 0 && !key_block(at, n, sizes, 0, 1, &first)) throw_bad_index(at, n, sizes);
  parallel_for(n, kNumbered, [&](int64_t begin, int64_t end) {
    uint64_t *w = out.words + begin, before = 0, differing = 0;
    const int64_t m = end - begin;
    bool bad = !key_block(at, n, sizes, begin, end, w);
    if (begin > 0) bad |= !key_block(at, n, sizes, begin - 1, begin, &before);
    uint64_t steps = begin > 0 ? w[0] - before : 1, less = steps - 1;  // numbers are below 2^63
    for (int64_t i = 1; i < m; ++i) {
      steps |= w[i] - w[i - 1];
      less |= w[i] - w[i - 1] - 1;
    }
    for (int64_t i = 0; i < m; ++i) differing |= w[i] ^ first;
    for (int64_t i = 0; out.shift > 0 && i < m; ++i)
      w[i] = w[i] << out.shift | static_cast<uint64_t>(begin + i);
    flags.differing.fetch_or(differing, std::memory_order_relaxed);
    if (negative(steps)) flags.ascending.store(false, std::memory_order_relaxed);
    if (negative(less)) flags.strict.store(false, std::memory_order_relaxed);
    if (bad) flags.bad.store(true, std::memory_order_relaxed);
  });
  if (flags.bad) throw_bad_index(at, n, sizes);
  out.differing = flags.differing;
  out.ascending = flags.ascending;
  out.strict = flags.strict;
  return out;
}

int64_t seek(const Numbers& have, int64_t at, uint64_t wanted) {
  int64_t step = 1;
  while (at + step < have.n && have[at + step] < wanted) {
    at += step;
    step *= 2;
  }
  return std::lower_bound(have.words + at, have.words + std::min(have.n, at + step + 1), wanted) -
         have.words;
}

const uint64_t* sort_packed(Ops& op, const Numbers& numbers) {
  return radix(numbers.words, scratch<uint64_t>(op, numbers.n), numbers.n,
               numbers.differing << numbers.shift);
}

const Pair* sort_wide(Ops& op, const Numbers& numbers) {
  const int64_t n = numbers.n;
  Pair *a = scratch<Pair>(op, n), *b = scratch<Pair>(op, n);
  parallel_for(n, kNumbered, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) a[i] = {numbers.words[i], static_cast<uint64_t>(i)};
  });
  return numbers.ascending ? a : radix(a, b, n, numbers.differing);
}

Groups partition(Ops& op, const Numbers& numbers) {
  const int shift = std::max(0, width_of(numbers.differing) - kDigit);
  const int64_t n = numbers.n, block = std::max(kSorted, divide_up(n, kMaxBlocks));
  std::vector<int64_t> counts(static_cast<std::size_t>(divide_up(n, block)) << kDigit);
  auto* to = scratch<uint64_t>(op, n);
  Pass<uint64_t>{numbers.words, to, n, block, numbers.shift + shift, kDigit, counts}.run();
  return {to, {counts.end() - (int64_t{1} << kDigit), counts.end()}, uint64_t{1} << shift};
}

}  // namespace tenon::coo::loops
