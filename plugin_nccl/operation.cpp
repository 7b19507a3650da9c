// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_nccl/operation.h"

#include <algorithm>
#include <thread>

namespace tenon::nccl_engine {
namespace {

using Clock = std::chrono::steady_clock;

// A sum that does not overflow.
std::chrono::milliseconds at_most_a_year(int64_t ms) {
  const std::chrono::milliseconds most = std::chrono::hours(24 * 365);
  return std::min(most, std::chrono::milliseconds(ms));
}

}  // namespace

Operation::Operation(const tn_collective_call& call)
    : timeout_ms_(std::max<int64_t>(call.timeout_ms, 1)),
      deadline_(Clock::now() + at_most_a_year(timeout_ms_)) {
  if (call.operation == TN_COLLECTIVE_RECV) source = call.root;
}

bool Operation::is_done() {
  std::lock_guard held(lock_);
  if (state_ == State::kUnderWay && event_.is_done()) state_ = State::kDone;
  return state_ == State::kDone;
}

// NCCL's kernels end with the communicator, so that the event does not tell any more.
bool Operation::doom(const std::string& why) {
  if (is_done()) return false;
  std::lock_guard held(lock_);
  if (state_ == State::kDone) return false;
  state_ = State::kDoomed;
  fault = why;
  return true;
}

void Operation::fail() {
  std::lock_guard held(lock_);
  state_ = State::kDone;
}

bool Operation::wait(int64_t ms) {
  const auto end = Clock::now() + at_most_a_year(ms);
  auto pause = std::chrono::microseconds(10);
  while (!is_done()) {
    if (ms <= 0 || Clock::now() > end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1000));
  }
  return true;
}

// NCCL's kernels end after an abort, if their device still does anything.
bool Operation::end() {
  constexpr int64_t kMaxMs = 10000;
  return wait(kMaxMs);
}

}  // namespace tenon::nccl_engine
