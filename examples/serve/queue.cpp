// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include <utility>

namespace serve {

void Queue::put(Request request) {
  std::unique_lock lock(mutex_);
  taken_.wait(lock, [&] { return requests_.size() < kMaxWaiting; });
  requests_.push_back(std::move(request));
  put_.notify_all();  // one that waits for its group may not be the one that can take this
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  put_.notify_all();
}

void Queue::take_group(std::vector<Request>& into, std::size_t most) {
  for (auto it = requests_.begin(); it != requests_.end() && into.size() < most;) {
    if (it->group == into.front().group) {
      into.push_back(std::move(*it));
      it = requests_.erase(it);
    } else {
      ++it;
    }
  }
}

std::vector<Request> Queue::take(std::size_t most, std::chrono::microseconds wait) {
  std::vector<Request> out;
  std::unique_lock lock(mutex_);
  put_.wait(lock, [&] { return closed_ || !requests_.empty(); });
  if (requests_.empty()) return out;
  out.push_back(std::move(requests_.front()));
  requests_.pop_front();
  if (!out.front().group.empty()) {
    const auto end = Clock::now() + wait;
    const auto complete = [&] {
      take_group(out, most);
      return closed_ || out.size() >= most;
    };
    put_.wait_until(lock, end, complete);
  }
  taken_.notify_one();
  return out;
}

}  // namespace serve
