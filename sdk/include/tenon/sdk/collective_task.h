// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Works of an engine whose calls block: on the caller's thread, a thread of the group's, or one of
// their own.
#pragma once

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tenon/sdk/collective.h"

namespace tenon::sdk {

// Threads that are started meanwhile take no signals of the program's.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;

 private:
  sigset_t before_;
};

// `run` is called once; what it throws is the fault.
class CollectiveTask final : public CollectiveWork {
 public:
  using Run = std::function<void(CollectiveTask&)>;
  explicit CollectiveTask(Run run) : run_(std::move(run)) {}

  void execute() {
    std::string why;
    const int64_t begin = collective_clock();
    try {
      run_(*this);
    } catch (const std::exception& e) {
      why = *e.what() ? e.what() : "the engine failed";
    } catch (...) {
      why = "the engine threw an unknown exception";
    }
    std::lock_guard held(lock_);
    fault = std::move(why);
    begin_ns = begin;
    end_ns = collective_clock();
    done_ = true;
    changed_.notify_all();
  }
  void execute_on_own_thread() {
    const BlockSignals blocked;
    thread_ = std::thread([this] { execute(); });
  }
  bool wait(int64_t ms) override {
    std::unique_lock held(lock_);
    if (ms <= 0) return done_;
    const std::chrono::milliseconds most = std::chrono::hours(24 * 365);
    return changed_.wait_for(held, std::min(most, std::chrono::milliseconds(ms)),
                             [&] { return done_; });
  }
  bool end() override {
    wait(INT64_MAX);
    if (thread_.joinable()) thread_.join();
    return true;
  }

 private:
  Run run_;
  std::mutex lock_;  // fork: groups are of no use to a child
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;  // of a receive or send that others must not wait for
};

// Runs tasks in their order on a thread of its own.
class CollectiveQueue {
 public:
  CollectiveQueue() {
    const BlockSignals blocked;
    worker_ = std::thread([this] { work(); });
  }
  ~CollectiveQueue() {
    {
      std::lock_guard held(lock_);
      stop_ = true;
      changed_.notify_all();
    }
    worker_.join();
  }
  CollectiveQueue(const CollectiveQueue&) = delete;

  // A call that blocks runs on this thread, a send or a receive, which others must not wait for, on
  // one of its own, and collectives in their order.
  std::shared_ptr<CollectiveWork> start(std::shared_ptr<CollectiveTask> task,
                                        const tn_collective_call& call) {
    if (call.flags & TN_COLLECTIVE_BLOCKING)
      task->execute();
    else if (is_to_one(call.operation))
      task->execute_on_own_thread();
    else
      push(task);
    return task;
  }

 private:
  void push(std::shared_ptr<CollectiveTask> task) {
    std::lock_guard held(lock_);
    queue_.push_back(std::move(task));
    changed_.notify_one();
  }
  void work() {
    for (;;) {
      std::shared_ptr<CollectiveTask> next;
      {
        std::unique_lock held(lock_);
        changed_.wait(held, [&] { return stop_ || !queue_.empty(); });
        if (queue_.empty()) return;
        next = std::move(queue_.front());
        queue_.pop_front();
      }
      next->execute();
    }
  }

  std::mutex lock_;  // fork: groups are of no use to a child
  std::condition_variable changed_;
  std::deque<std::shared_ptr<CollectiveTask>> queue_;
  bool stop_ = false;
  std::thread worker_;
};

}  // namespace tenon::sdk
