// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

using tenon::core::pool_alloc;
using tenon::core::pool_free;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooled = false;
#else
constexpr bool kPooled = true;
#endif

TEST(Pool, ABlockFreedLastComesBackFirst) {
  if (!kPooled) GTEST_SKIP() << "no pool under the address sanitizer";
  void* a = pool_alloc(100);
  pool_free(a, 100);
  EXPECT_EQ(pool_alloc(128), a) << "100 and 128 bytes are of one class";
  pool_free(a, 128);
}

TEST(Pool, BlocksOfAllSizesAreWritableAndDistinct) {
  std::vector<std::pair<void*, std::size_t>> blocks;
  std::set<void*> seen;
  for (std::size_t bytes = 0; bytes < 2000; bytes += 7) {
    void* p = pool_alloc(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 16, 0u);
    EXPECT_TRUE(seen.insert(p).second);
    std::memset(p, 0xab, bytes);
    blocks.emplace_back(p, bytes);
  }
  for (auto [p, bytes] : blocks) pool_free(p, bytes);
}

TEST(Pool, ManyBlocksBeyondWhatAListKeeps) {
  std::vector<void*> blocks(3 * tenon::core::kPoolKept);
  for (void*& p : blocks) p = pool_alloc(64);
  for (void* p : blocks) pool_free(p, 64);
  void* p = pool_alloc(64);
  pool_free(p, 64);
}

TEST(Pool, BlocksMayBeFreedOnAnotherThread) {
  std::vector<void*> blocks;
  blocks.reserve(1000);
  for (int i = 0; i < 1000; ++i) blocks.push_back(pool_alloc(96));
  std::thread([&] {
    for (void* p : blocks) pool_free(p, 96);
    void* p = pool_alloc(96);
    pool_free(p, 96);
  }).join();
}

namespace {
struct FreesAtExit {
  void* p = nullptr;
  ~FreesAtExit() {
    if (p) pool_free(p, 64);
  }
};
}  // namespace

TEST(Pool, AThreadLocalMayFreeAfterThePoolOfItsThreadHasEnded) {
  std::thread([] {
    static thread_local FreesAtExit
        late;  // made before the pool's own thread-local, so destroyed after it
    late.p = nullptr;
    late.p = pool_alloc(64);
  }).join();
}
