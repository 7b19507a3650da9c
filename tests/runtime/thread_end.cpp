// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/thread_end.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tenon/runtime/allocator.h"
#include "tenon/runtime/pool.h"

using namespace tenon;

namespace {

std::string order;
void first() noexcept { order += "first "; }
void second() noexcept { order += "second "; }
__thread core::ThreadEnd t_first = {first};
__thread core::ThreadEnd t_second = {second};

TEST(ThreadEnd, TheLastRunsFirst) {
  order.clear();
  std::thread([] {
    EXPECT_TRUE(core::at_thread_end(t_first));
    EXPECT_TRUE(core::at_thread_end(t_second));
    EXPECT_EQ(order, "");
  }).join();
  EXPECT_EQ(order, "second first ");
  order.clear();
  std::thread([] { EXPECT_TRUE(core::at_thread_end(t_second)); }).join();
  EXPECT_EQ(order, "second ");
}

int rounds = 0;
void again() noexcept;
__thread core::ThreadEnd t_again = {again};
void again() noexcept {
  if (++rounds < 3) core::at_thread_end(t_again);
}
TEST(ThreadEnd, MayBeRegisteredAgainFromThere) {
  rounds = 0;
  std::thread([] { EXPECT_TRUE(core::at_thread_end(t_again)); }).join();
  EXPECT_EQ(rounds, 3);
}

// The library's own state is still usable in destructors of thread_local objects, in any order of
// construction.
struct Uses {
  ~Uses() {
    core::pool_free(core::pool_alloc(64), 64);
    const core::Block b = core::cache_alloc(core::kHost, 128, nullptr);
    core::cache_free(core::kHost, b, nullptr);
  }
};
TEST(ThreadEnd, ComesAfterThreadLocalObjects) {
  const uint64_t before = core::memory_stats(core::kHost).allocated;
  for (bool early : {true, false}) {
    std::thread([early] {
      const auto use = [] {
        const core::Block b = core::cache_alloc(core::kHost, 128, nullptr);
        core::cache_free(core::kHost, b, nullptr);
      };
      if (!early) use();
      static thread_local Uses at_the_end;
      (void)&at_the_end;
      if (early) use();
    }).join();
  }
  EXPECT_EQ(core::memory_stats(core::kHost).allocated, before);
}

}  // namespace
