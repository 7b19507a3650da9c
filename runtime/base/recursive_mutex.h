// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A recursive mutex that the child of a fork can unlock: std's identifies its owner by a thread id,
// which is different there. Whose it is registers the handlers of fork that take it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace tenon::core {

class RecursiveMutex {
 public:
  void lock() {
    if (!is_owner()) {
      mutex_.lock();
      owner_.store(pthread_self(), std::memory_order_relaxed);
    }
    ++depth_;
  }
  void unlock() {
    if (--depth_ != 0) return;
    owner_.store(pthread_t{}, std::memory_order_relaxed);
    mutex_.unlock();
  }

 private:
  // Another thread never writes this thread's id, so a relaxed load is enough.
  bool is_owner() const {
    return pthread_equal(owner_.load(std::memory_order_relaxed), pthread_self()) != 0;
  }
  std::mutex mutex_;  // fork: its owner takes it in a handler
  std::atomic<pthread_t> owner_{};
  int depth_ = 0;  // of the owner
};

}  // namespace tenon::core
