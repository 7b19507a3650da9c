// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/leaf_mutex.h"

#include <pthread.h>

namespace tenon::core {

struct LeafMutexes {
  static inline std::atomic<LeafMutex*> first{nullptr};
  // Of the fork under way, which glibc lets no other begin: a library that loads meanwhile adds
  // mutexes that it has not taken.
  static inline LeafMutex* taken = nullptr;
  template <class F>
  static void each_taken(F&& f) {
    for (LeafMutex* m = taken; m != nullptr; m = m->next_) f(*m);
  }
};

namespace {

void before_fork() {
  LeafMutexes::taken = LeafMutexes::first.load(std::memory_order_acquire);
  LeafMutexes::each_taken([](LeafMutex& m) { m.lock(); });
}
void after_fork() {
  LeafMutexes::each_taken([](LeafMutex& m) { m.unlock(); });
}

// Registered before every other handler of the library, as a fork runs the last registered one
// first: a thread that holds a leaf mutex waits for no other mutex, but one that holds another may
// wait for a leaf mutex.
struct ForkHandlers {
  ForkHandlers() { pthread_atfork(before_fork, after_fork, after_fork); }
};
[[gnu::init_priority(101)]] const ForkHandlers g_fork_handlers;

}  // namespace

LeafMutex::LeafMutex() : next_(LeafMutexes::first.load(std::memory_order_relaxed)) {
  while (!LeafMutexes::first.compare_exchange_weak(next_, this, std::memory_order_release)) {
  }
}

}  // namespace tenon::core
