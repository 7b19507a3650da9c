// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the tests of both allocators need.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tenon/runtime/allocator.h"

namespace tenon::test {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline char* address(const core::Block& b) { return static_cast<char*>(b.handle) + b.offset; }

// Blocks are filled with a byte of their own, which must still be there when they are freed.
inline void random_trace(core::DeviceId device, uint64_t largest, int steps) {
  std::mt19937 random(7);
  std::vector<std::pair<core::Block, char>> live;
  for (int i = 0; i < steps; ++i) {
    if (live.size() > 40 || (!live.empty() && random() % 2)) {
      std::size_t k = random() % live.size();
      auto [b, mark] = live[k];
      EXPECT_EQ(address(b)[0], mark);
      EXPECT_EQ(address(b)[b.bytes - 1], mark);
      core::cache_free(device, b, nullptr);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(k));
    } else {
      uint64_t bytes = 1 + random() % largest;
      if (random() % 2) bytes = 1 + bytes % 5000;
      core::Block b = core::cache_alloc(device, bytes, nullptr);
      EXPECT_GE(b.bytes, bytes);
      char mark = static_cast<char>(i);
      address(b)[0] = address(b)[b.bytes - 1] = mark;
      live.emplace_back(b, mark);
    }
  }
  for (auto& [b, mark] : live) core::cache_free(device, b, nullptr);
}

}  // namespace tenon::test
