// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tenon/runtime/error.h"

using namespace tenon;

namespace {

template <class F>
void parallel(int64_t n, int64_t grain, F f) {
  core::parallel_for(
      n, grain, [](void* arg, int64_t b, int64_t e) { (*static_cast<F*>(arg))(b, e); }, &f);
}

class WithThreads {
 public:
  explicit WithThreads(int n) : old_(core::num_threads()) { core::set_num_threads(n); }
  ~WithThreads() { core::set_num_threads(old_); }

 private:
  int old_;
};

std::vector<std::pair<int64_t, int64_t>> blocks(int threads, int64_t n, int64_t grain) {
  WithThreads with(threads);
  std::mutex lock;
  std::vector<std::pair<int64_t, int64_t>> seen;
  parallel(n, grain, [&](int64_t b, int64_t e) {
    std::lock_guard<std::mutex> hold(lock);
    seen.emplace_back(b, e);
  });
  std::sort(seen.begin(), seen.end());
  return seen;
}

int64_t sum_of_squares(int64_t n) {
  std::atomic<int64_t> sum{0};
  parallel(n, 10, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) sum += i * i;
  });
  return sum;
}

// Whether `f` holds in a forked child, within 10 seconds.
template <class F>
bool holds_in_child(F f) {
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(f() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST(Threads, BlocksDependOnLengthAndGrainAlone) {
  for (auto [n, grain] :
       {std::pair<int64_t, int64_t>{1000, 7}, {3, 10}, {64, 1}, {1, 1}, {100, 50}, {101, 50}}) {
    auto one = blocks(1, n, grain);
    EXPECT_EQ(static_cast<int64_t>(one.size()), (n + grain - 1) / grain);
    for (int threads : {2, 3, 8})
      EXPECT_EQ(blocks(threads, n, grain), one) << n << " " << grain << " " << threads;
  }
}

TEST(Threads, NothingToDoCallsNothing) {
  int calls = 0;
  parallel(0, 1, [&](int64_t, int64_t) { ++calls; });
  parallel(-5, 1, [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
  parallel(3, 0, [&](int64_t, int64_t) {});  // a grain below 1 counts as 1
}

TEST(Threads, LengthsNearTheLimitDoNotOverflow) {
  WithThreads with(2);
  std::atomic<int64_t> last{0};
  parallel(INT64_MAX, INT64_MAX / 2, [&](int64_t, int64_t e) {
    int64_t seen = last;
    while (e > seen && !last.compare_exchange_weak(seen, e)) {
    }
  });
  EXPECT_EQ(last, INT64_MAX);
}

TEST(Threads, ManyCallsInARow) {
  WithThreads with(4);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(sum_of_squares(100), 328350);
}

TEST(Threads, ANestedCallRunsOnItsOwnThread) {
  WithThreads with(4);
  EXPECT_FALSE(core::in_parallel_region());
  std::atomic<int> wrong{0};
  parallel(16, 1, [&](int64_t, int64_t) {
    auto id = std::this_thread::get_id();
    if (!core::in_parallel_region()) ++wrong;
    parallel(8, 1, [&](int64_t, int64_t) { wrong += std::this_thread::get_id() != id; });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(core::in_parallel_region());
  EXPECT_EQ(core::thread_index(), 0);
}

TEST(Threads, IndicesStayBelowTheNumberOfThreads) {
  WithThreads with(8);
  sum_of_squares(1000);
  core::set_num_threads(3);
  std::mutex lock;
  std::set<int> seen;
  parallel(300, 1, [&](int64_t, int64_t) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::lock_guard<std::mutex> hold(lock);
    seen.insert(core::thread_index());
  });
  EXPECT_LT(*seen.rbegin(), 3);
  EXPECT_GT(seen.size(), 1u) << "somebody helped in 30 ms of work";
}

TEST(Threads, TheExceptionOfTheLowestBlockArrives) {
  for (int threads : {1, 4}) {
    WithThreads with(threads);
    for (int i = 0; i < 50; ++i) {
      try {
        parallel(100, 1, [](int64_t b, int64_t) {
          if (b % 10 == 3) throw ValueError("block " + std::to_string(b));
        });
        FAIL();
      } catch (const ValueError& e) {
        EXPECT_STREQ(e.what(), "block 3");
      }
      EXPECT_FALSE(core::in_parallel_region());
      EXPECT_EQ(sum_of_squares(100), 328350);
    }
  }
}

TEST(Threads, SeveralCallersShareTheWorkers) {
  WithThreads with(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  callers.reserve(12);
  for (int t = 0; t < 12; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) wrong += sum_of_squares(100) != 328350;
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, TheNumberMustBePositive) {
  EXPECT_GE(core::num_threads(), 1);
  EXPECT_THROW(core::set_num_threads(0), ValueError);
  EXPECT_THROW(core::set_num_threads(-3), ValueError);
}

#if !defined(__SANITIZE_THREAD__)  // which does not support threads in a forked child
TEST(Threads, AForkedChildMakesWorkersOfItsOwn) {
  WithThreads with(4);
  ASSERT_EQ(sum_of_squares(1000), 332833500);
  auto works = [] {
    bool right = true;
    std::mutex lock;
    std::set<int> seen;
    for (int i = 0; i < 20; ++i) {
      right &= sum_of_squares(1000) == 332833500;
      parallel(50, 1, [&](int64_t, int64_t) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        std::lock_guard<std::mutex> hold(lock);
        seen.insert(core::thread_index());
      });
    }
    return right && seen.size() > 1;
  };
  // Here first: while a thread is starting, a sanitizer forks with its own locks held.
  ASSERT_TRUE(works());
  EXPECT_TRUE(holds_in_child(works));
  EXPECT_TRUE(holds_in_child([&] { return works() && holds_in_child(works); }))
      << "a child of a child";
  EXPECT_EQ(sum_of_squares(1000), 332833500);
}

TEST(Threads, AForkWhileOthersWorkLeavesTheChildUsable) {
  WithThreads with(3);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) sum_of_squares(2000);
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(holds_in_child([] { return sum_of_squares(1000) == 332833500; }));
  stop = true;
  busy.join();
}
#endif

// A sleeping worker may not run on its caller's processor while it wakes, and only then.
TEST(Threads, AWorkerThatWokeMayRunAnywhere) {
  WithThreads four(4);
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::atomic<int> visits{0}, barred{0};
  for (int round = 0; round < 400 && (round < 50 || visits == 0); ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    parallel(64, 1, [&](int64_t, int64_t) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(10);
      while (std::chrono::steady_clock::now() < end) {
      }
      cpu_set_t own;
      if (core::thread_index() == 0 || sched_getaffinity(0, sizeof own, &own) != 0) return;
      visits.fetch_add(1);
      if (!CPU_EQUAL(&own, &allowed)) barred.fetch_add(1);
    });
  }
  EXPECT_GT(visits, 0);
  EXPECT_EQ(barred, 0);
}

// Work that keeps coming lets them spin longer, and they sleep when it ends.
TEST(Threads, IdleWorkersSleep) {
  WithThreads four(4);
  for (int round = 0; round < 100; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    parallel(64, 1, [](int64_t, int64_t) {});
  }
  const std::clock_t begin = std::clock();  // of all threads of the process
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 20);
}

// A worker that is not scheduled takes no blocks, so the caller waits for at most the blocks that
// workers have begun.
TEST(Threads, BusyNeighborsCostTheirShareOnly) {
  WithThreads with(2);
  auto time = [] {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) {
      parallel(64, 1, [](int64_t, int64_t) {
        volatile double x = 1;
        for (int k = 0; k < 2000; ++k) x = x * 1.0000001;
      });
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double quiet = time();
  std::atomic<bool> stop{false};
  std::vector<std::thread> neighbors;
  for (unsigned i = 0; i < 2; ++i) {
    neighbors.emplace_back([&] {
      while (!stop) {
      }
    });
  }
  double loaded = time();
  stop = true;
  for (std::thread& t : neighbors) t.join();
  RecordProperty("quiet_ms", std::to_string(quiet * 1e3));
  RecordProperty("loaded_ms", std::to_string(loaded * 1e3));
  EXPECT_LT(loaded, quiet * 20) << "a collapse; the share itself is the benchmark's to judge";
}
