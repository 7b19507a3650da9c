// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An operation in a stream's order: done when the event after it is.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "plugin_nccl/device.h"
#include "tenon/sdk/collective.h"

namespace tenon::nccl_engine {

class Operation final : public sdk::CollectiveWork {
 public:
  // On the current device.
  explicit Operation(const tn_collective_call& call);
  void record(cudaStream_t stream) { event_.record(stream); }
  bool wait(int64_t ms) override;
  bool end() override;

  // Of the communicator, one after the other. False: it is done, and stays so.
  bool doom(const std::string& why);
  void fail();
  bool is_done();
  bool is_late() const { return std::chrono::steady_clock::now() > deadline_; }
  int64_t timeout_ms() const { return timeout_ms_; }

 private:
  enum class State { kUnderWay, kDoomed, kDone };
  const int64_t timeout_ms_;
  const std::chrono::steady_clock::time_point deadline_;
  Event event_;
  std::mutex lock_;  // fork: groups are of no use to a child
  State state_ = State::kUnderWay;
};

}  // namespace tenon::nccl_engine
