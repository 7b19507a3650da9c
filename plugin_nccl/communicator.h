// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A communicator of NCCL: its making, its calls, and the thread that watches what is under way.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugin_nccl/library.h"
#include "plugin_nccl/operation.h"

namespace tenon::nccl_engine {

class Communicator {
 public:
  // Joins. std::runtime_error: NCCL refused, or not all ranks came in time.
  explicit Communicator(const tn_group_options& options);
  ~Communicator();
  Communicator(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int device() const { return device_; }
  void* scratch() const { return scratch_; }  // a few bytes of the device
  // Calls f, which makes calls of NCCL on the stream, and returns when NCCL has taken them.
  // std::runtime_error: it has not; the group is aborted if NCCL says that it is of no further use.
  using Calls = std::function<void(ncclComm_t, cudaStream_t)>;
  std::shared_ptr<Operation> start(const tn_collective_call& call, const Calls& f);
  // Ends what is under way with this fault. The first one counts.
  void abort(const std::string& why);

 private:
  using Clock = std::chrono::steady_clock;
  ncclUniqueId meet(const tn_group_options& options) const;
  void join(const tn_group_options& options);
  void check_alive(std::shared_ptr<Operation> added = nullptr);
  void settle(const char* call, Clock::time_point end, int64_t timeout_ms);
  void leave();
  void watch();
  std::string find_fault();

  const int rank_, size_, device_;
  const int64_t timeout_ms_;
  void* scratch_ = nullptr;
  std::mutex calls_;           // fork: groups are of no use to a child
  ncclComm_t comm_ = nullptr;  // under calls_
  std::atomic<bool> aborting_{false};
  std::mutex lock_;  // fork: likewise
  std::condition_variable changed_;
  std::string why_aborted_;  // under lock_, as what follows
  std::vector<std::shared_ptr<Operation>> under_way_;
  bool stop_ = false;
  std::thread watcher_;
};

}  // namespace tenon::nccl_engine
