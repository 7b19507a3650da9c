// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A rank's membership of a group, and its operations.
#pragma once

#include <gloo/rendezvous/context.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenon/abi/ext/collective.h"

namespace tenon::gloo_engine {

// One operation. `run` is called once, on the thread of start, of the group's queue, or its own.
struct Operation {
  std::function<void(Operation&)> run;
  std::mutex lock;
  std::condition_variable changed;
  bool done = false;
  std::string fault;  // empty: it succeeded
  int source = -1;
  std::thread thread;  // of a receive or send that others must not wait for

  void execute();
  bool wait(int64_t ms);
};

class Group {
 public:
  explicit Group(const tn_group_options& options);
  ~Group();
  std::shared_ptr<Operation> start(const tn_collective_call& call);
  void abort();

 private:
  std::function<void(Operation&)> make(const tn_collective_call& call);
  void work();

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::atomic<uint32_t> next_tag_{0};
  std::atomic<bool> aborted_{false};
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Operation>> queue_;
  bool stop_ = false;
  std::thread worker_;
};

}  // namespace tenon::gloo_engine
