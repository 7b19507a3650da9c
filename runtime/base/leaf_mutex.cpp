// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/leaf_mutex.h"

#include <pthread.h>

#include <utility>

namespace tenon::core {

struct LeafMutexes {
  static inline LeafMutex* first = nullptr;
  template <class F>
  static void each(F&& f) {
    for (LeafMutex* m = first; m != nullptr; m = m->next_) f(*m);
  }
};

namespace {

void before_fork() {
  LeafMutexes::each([](LeafMutex& m) { m.lock(); });
}
void after_fork() {
  LeafMutexes::each([](LeafMutex& m) { m.unlock(); });
}

// Registered before every other handler of the library, as a fork runs the last registered one
// first: a thread that holds a leaf mutex waits for no other mutex, but one that holds another may
// wait for a leaf mutex.
struct ForkHandlers {
  ForkHandlers() { pthread_atfork(before_fork, after_fork, after_fork); }
};
[[gnu::init_priority(101)]] const ForkHandlers g_fork_handlers;

}  // namespace

LeafMutex::LeafMutex() : next_(std::exchange(LeafMutexes::first, this)) {}

}  // namespace tenon::core
