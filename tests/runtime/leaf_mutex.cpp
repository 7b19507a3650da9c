// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/leaf_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace tenon::core {
namespace {

#if !defined(__SANITIZE_THREAD__)  // which reports the parent's threads as leaks of the child
LeafMutex g_first, g_second;
int g_a = 0, g_b = 0;  // equal while g_first is free

TEST(LeafMutex, IsFreeInTheChildOfAForkAndItsDataWhole) {
  std::atomic<bool> held{false};
  std::thread other([&] {
    const std::lock_guard hold(g_first);
    ++g_a;
    held = true;
    usleep(100'000);
    ++g_b;
  });
  while (!held) std::this_thread::yield();
  const pid_t child = fork();  // waits for the other thread
  if (child == 0) {
    alarm(20);
    const std::lock_guard first(g_first), second(g_second);
    _exit(g_a == 1 && g_b == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  other.join();
  EXPECT_TRUE(WIFEXITED(status)) << "it ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LeafMutex, OfALibraryThatLoadsLaterIsTakenToo) {
  auto& late = *new LeafMutex;  // never destroyed, as it asks for
  std::atomic<bool> held{false};
  std::thread other([&] {
    const std::lock_guard hold(late);
    held = true;
    usleep(50'000);
  });
  while (!held) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const std::lock_guard hold(late);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  other.join();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace
}  // namespace tenon::core
