// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Requests that wait for a thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "request.h"

namespace serve {

// One thread puts, several take.
class Queue {
 public:
  // Waits while there are many: the input is read as fast as it is answered.
  void put(Request request);
  void close();  // no more will be put

  // The oldest request and up to `most` - 1 others of its group, for which it waits up to `wait`.
  // Empty: the queue is closed and empty.
  std::vector<Request> take(std::size_t most, std::chrono::microseconds wait);

 private:
  void take_group(std::vector<Request>& into, std::size_t most);

  static constexpr std::size_t kMaxWaiting = 1024;
  std::mutex mutex_;
  std::condition_variable put_, taken_;
  std::deque<Request> requests_;
  bool closed_ = false;
};

}  // namespace serve
