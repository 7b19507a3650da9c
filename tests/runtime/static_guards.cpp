// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Statics of functions, with the guards of runtime/base/static_guards.cpp, which is compiled into
// this program, too.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<int> g_begun{0};
std::atomic<bool> g_may_end{false};

int slow(int value) {
  ++g_begun;
  while (!g_may_end) std::this_thread::yield();
  return value;
}
const std::string& shared_by_threads() {
  static const std::string made(3, static_cast<char>(slow('a')));
  return made;
}
const std::string& interrupted_by_fork() {
  static const std::string made(5, static_cast<char>(slow('b')));
  return made;
}
int fails_twice() {
  static int calls = 0;
  static const int made = [] {
    if (++calls < 3) throw std::runtime_error("not yet");
    return calls;
  }();
  return made;
}

TEST(StaticGuards, MakeAStaticOnceForManyThreads) {
  g_begun = 0;
  g_may_end = false;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { right += shared_by_threads() == "aaa"; });
  while (g_begun == 0) std::this_thread::yield();
  usleep(20'000);  // the others arrive and wait
  EXPECT_EQ(right, 0);
  g_may_end = true;
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(g_begun, 1);
}

TEST(StaticGuards, BeginAgainAfterAnException) {
  EXPECT_THROW(fails_twice(), std::runtime_error);
  EXPECT_THROW(fails_twice(), std::runtime_error);
  EXPECT_EQ(fails_twice(), 3);
  EXPECT_EQ(fails_twice(), 3);
}

TEST(StaticGuards, BeginAgainInTheChildOfAFork) {
  g_begun = 0;
  g_may_end = false;
  std::thread other([] { EXPECT_EQ(interrupted_by_fork(), "bbbbb"); });
  while (g_begun == 0) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    g_may_end = true;
    _exit(interrupted_by_fork() == "bbbbb" && g_begun == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  g_may_end = true;
  other.join();
  EXPECT_TRUE(WIFEXITED(status)) << "it ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(g_begun, 1);
}

}  // namespace
