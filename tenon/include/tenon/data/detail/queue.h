// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A queue between threads, without a limit on its length.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <queue>
#include <utility>

#include "tenon/runtime/error.h"

namespace tenon::data::detail {

template <class T>
class Queue {
 public:
  void push(T value) {
    std::lock_guard lock(mutex_);
    queue_.push(std::move(value));
    // Under the lock, so that a thread that popped the value may destroy the queue.
    filled_.notify_one();
  }

  // Waits for a value; Error after `timeout`.
  T pop(std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    std::unique_lock lock(mutex_);
    const auto is_filled = [this] { return !queue_.empty(); };
    if (timeout) {
      TENON_CHECK(filled_.wait_for(lock, *timeout, is_filled), Error,
                  "Timeout in DataLoader queue while waiting for next batch (timeout was ",
                  static_cast<long long>(timeout->count()), " ms)");
    } else {
      filled_.wait(lock, is_filled);
    }
    T value = std::move(queue_.front());
    queue_.pop();
    return value;
  }

  // Returns how many values it dropped.
  std::size_t clear() {
    std::lock_guard lock(mutex_);
    const std::size_t size = queue_.size();
    queue_ = {};
    return size;
  }

 private:
  std::queue<T> queue_;
  std::mutex mutex_;  // fork: of one program, whose other threads a child does not have
  std::condition_variable filled_;
};

}  // namespace tenon::data::detail
