// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/allocator.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/runtime/random_trace.h"

using namespace tenon;
using core::Block;
using core::cache_alloc;
using core::cache_free;
using core::memory_stats;
using test::kMiB;
using test::random_trace;

TEST(HostCache, BlocksDoNotOverlap) {
  uint64_t before = memory_stats(core::kHost).allocated;
  random_trace(core::kHost, 8 * kMiB, 4000);
  EXPECT_EQ(memory_stats(core::kHost).allocated, before);
}

TEST(HostCache, ASteadyStateAsksTheDeviceForNothing) {
  random_trace(core::kHost, kMiB, 2000);
  [[maybe_unused]] const uint64_t before = memory_stats(core::kHost).device_allocations;
  for (int i = 0; i < 1000; ++i) {
    Block a = cache_alloc(core::kHost, 1000, nullptr),
          b = cache_alloc(core::kHost, 3 * kMiB, nullptr);
    cache_free(core::kHost, a, nullptr);
    cache_free(core::kHost, b, nullptr);
  }
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LE(memory_stats(core::kHost).device_allocations, before + 2);
#endif
}

TEST(HostCache, StatisticsCountBlocks) {
  core::MemoryStats before = memory_stats(core::kHost);
  Block a = cache_alloc(core::kHost, 64, nullptr), b = cache_alloc(core::kHost, 4 * kMiB, nullptr);
  core::MemoryStats during = memory_stats(core::kHost);
  EXPECT_EQ(during.allocated, before.allocated + 64 + 4 * kMiB);
  EXPECT_GE(during.allocated_peak, during.allocated);
  EXPECT_GE(during.reserved, during.allocated);
  EXPECT_EQ(during.allocations, before.allocations + 2);
  cache_free(core::kHost, a, nullptr);
  cache_free(core::kHost, b, nullptr);
  EXPECT_EQ(memory_stats(core::kHost).allocated, before.allocated);
}

TEST(HostCache, ThreadsMayFreeWhatOthersMade) {
  uint64_t before = memory_stats(core::kHost).allocated;
  std::vector<Block> blocks;
  std::thread([&] {
    for (int i = 0; i < 500; ++i)
      blocks.push_back(cache_alloc(core::kHost, 100 + i * 200, nullptr));
  }).join();
  for (Block& b : blocks) cache_free(core::kHost, b, nullptr);
  EXPECT_EQ(memory_stats(core::kHost).allocated, before);
}

TEST(HostCache, TrimGivesEverythingBack) {
  Block b = cache_alloc(core::kHost, 3 * kMiB, nullptr);
  cache_free(core::kHost, b, nullptr);
  core::cache_trim(core::kHost);
  core::MemoryStats s = memory_stats(core::kHost);
  EXPECT_LT(s.reserved - s.allocated, 2 * kMiB) << "only what other threads keep";
}
