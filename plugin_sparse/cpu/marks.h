// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which entries of a dense row of sums are in use, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::coo::loops {

// A sum of no terms: the neutral element of addition.
template <class A>
inline constexpr A kNoTerm = std::is_floating_point_v<A> ? A(-0.0) : A(0);

// One bit per entry of a dense row, and one per word of these bits that is not 0.
class Marks {
 public:
  explicit Marks(int64_t width)
      : low_(static_cast<std::size_t>(width / 64 + 1)),
        high_(static_cast<std::size_t>(width / 4096 + 1)) {}

  // Entries from a to b may be set.
  void expect(uint32_t a, uint32_t b) {
    min_ = std::min(min_, a / 4096);
    max_ = std::max(max_, b / 4096);
  }
  void set(uint32_t c) {
    low_[c / 64] |= uint64_t{1} << c % 64;
    high_[c / 4096] |= uint64_t{1} << c / 64 % 64;
  }
  // f(first entry, bits) of the words that are not 0, in order; clears all bits.
  template <class F>
  void drain(F&& f) {
    for (uint32_t h = min_; h <= max_; ++h) {
      for (uint64_t rest = std::exchange(high_[h], 0); rest != 0; rest &= rest - 1) {
        const uint32_t w = h * 64 + static_cast<uint32_t>(__builtin_ctzll(rest));
        f(w * 64, std::exchange(low_[w], 0));
      }
    }
    min_ = UINT32_MAX;
    max_ = 0;
  }

 private:
  std::vector<uint64_t> low_, high_;
  uint32_t min_ = UINT32_MAX, max_ = 0;  // words of high_
};

}  // namespace tenon::coo::loops
