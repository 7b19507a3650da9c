// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A rank's membership of a group, and its operations.
#pragma once

#include <gloo/rendezvous/context.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugin_gloo/operation.h"
#include "tenon/abi/ext/collective.h"

namespace tenon::gloo_engine {

class Group {
 public:
  explicit Group(const tn_group_options& options);
  ~Group();
  std::shared_ptr<Operation> start(const tn_collective_call& call);
  void abort();

 private:
  void work();

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::atomic<uint16_t> next_{0};  // more are never under way at once
  std::atomic<bool> aborted_{false};
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Operation>> queue_;
  bool stop_ = false;
  std::thread worker_;
};

}  // namespace tenon::gloo_engine
