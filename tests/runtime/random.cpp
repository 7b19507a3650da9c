// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/runtime/fake_device.h"

using namespace tenon;
using core::GeneratorImpl;

TEST(Random, ReservesWholeBlocks) {
  GeneratorImpl g(Device("cpu"), 42);
  EXPECT_EQ(g.reserve(1).offset, 0u);
  EXPECT_EQ(g.reserve(4).offset, 1u);
  EXPECT_EQ(g.reserve(5).offset, 2u);
  EXPECT_EQ(g.reserve(0).offset, 4u);
  EXPECT_EQ(g.offset(), 4u);
  EXPECT_EQ(g.reserve(1).seed, 42u);
  EXPECT_EQ(g.reserve(1).state_ptr, nullptr);
  EXPECT_EQ(g.reserve(UINT64_MAX).offset, 6u) << "a count near the limit does not overflow";
}

TEST(Random, ASeedStartsTheStreamAgain) {
  GeneratorImpl g(Device("cpu"), 1);
  g.reserve(100);
  g.set_seed(7);
  EXPECT_EQ(g.offset(), 0u);
  EXPECT_EQ(g.seed(), 7u);
  g.set_offset(12);
  EXPECT_EQ(g.reserve(4).offset, 12u);
}

TEST(Random, RangesOfThreadsDoNotOverlap) {
  GeneratorImpl g(Device("cpu"), 1);
  std::vector<uint64_t> starts[4];
  std::vector<std::thread> threads;
  for (auto& mine : starts) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) mine.push_back(g.reserve(8).offset);
    });
  }
  for (std::thread& t : threads) t.join();
  std::vector<uint64_t> all;
  for (auto& mine : starts) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], 2 * i);
}

TEST(Random, ManualSeedReachesDevicesThatComeLater) {
  GeneratorImpl& host = core::default_generator(Device("cpu"));
  EXPECT_EQ(&host, &core::default_generator(Device("cpu:0")));
  host.reserve(10);
  core::manual_seed(99);
  EXPECT_EQ(host.seed(), 99u);
  EXPECT_EQ(host.offset(), 0u);
  test::FakeDevice fake("fake");
  GeneratorImpl& late = core::default_generator(Device("fake:1"));
  EXPECT_EQ(late.seed(), 99u);
  EXPECT_NE(&late, &core::default_generator(Device("fake")));
}
