// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A recursive mutex that the child of a fork can unlock: std's remembers its owner by a number that is another one
// there.
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace tenon::plugins {

class RecursiveMutex {
 public:
  void lock() {
    if (!mine()) {
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
  // What another thread writes meanwhile is never this thread's own name.
  bool mine() const { return pthread_equal(owner_.load(std::memory_order_relaxed), pthread_self()) != 0; }
  std::mutex mutex_;
  std::atomic<pthread_t> owner_{};
  int depth_ = 0;  // of the owner
};

}  // namespace tenon::plugins
