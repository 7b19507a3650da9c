// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An operation that may still be under way.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "tenon/distributed/types.h"
#include "tenon/ivalue.h"
#include "tenon/tensor.h"

namespace tenon::distributed {

class Work;

// The results of a Work, a list of tensors or None, and what is to happen then. Callbacks run once,
// on the thread whose wait or isCompleted finds the work done.
class TENON_API Future {
 public:
  explicit Future(std::shared_ptr<Work> work) : work_(std::move(work)) {}
  void wait();  // throws the work's error
  bool completed();
  bool hasError();
  bool hasValue() { return completed() && !hasError(); }
  IValue value();  // waits; throws the work's error
  // What `f` makes of this one, once its value is wanted. The type is that of f's result.
  std::shared_ptr<Future> then(std::function<IValue(Future&)> f,
                               const jit::TypePtr& type = nullptr);
  void addCallback(std::function<void(Future&)> f);

 private:
  std::shared_ptr<Work> work_;
  std::shared_ptr<Future> before_;
  std::function<IValue(Future&)> f_;
  std::shared_ptr<IValue> value_;  // of f_
};

// Thread-safe. The tensors of the operation must not be written (results: not read either) before
// it is done; it keeps them alive. Of an engine for a device's memory, such as NCCL, wait() without
// a timeout makes the current stream wait and not the host, so that an error is not known yet: it
// is thrown by isCompleted() and exception(), a wait with a timeout, or the next operation.
class TENON_API Work : public std::enable_shared_from_this<Work> {
 public:
  virtual ~Work();
  // Does not wait. True also after an error.
  virtual bool isCompleted() = 0;
  bool isSuccess();                // isCompleted without an error
  std::exception_ptr exception();  // null while it is under way
  // Throws the operation's error: DistributedError names the ranks that are the cause. When the
  // timeout ends first: TimeoutError, and the work goes on. kNoTimeout: until the operation's own.
  // False: abort() of a send or receive ended the wait.
  virtual bool wait(std::chrono::milliseconds timeout = kNoTimeout) = 0;
  // For a device's tensors: later work of the current stream comes after the results.
  virtual void synchronize() { wait(); }
  // Of a collective: ends what is under way in its group with an error; the group is of no further
  // use. Of a send or receive: ends the wait that is under way, or else the next one, and nothing
  // more, as in c10d: the message goes on and may be waited for again.
  virtual void abort() = 0;
  virtual int sourceRank() const = 0;  // of a receive that is done
  virtual std::vector<Tensor> result() = 0;
  std::shared_ptr<Future> getFuture();
  void add_callback(std::function<void()> f);  // at once if it is done

  bool is_completed() { return isCompleted(); }
  bool is_success() { return isSuccess(); }
  int source_rank() const { return sourceRank(); }
  std::shared_ptr<Future> get_future() { return getFuture(); }

 protected:
  void finish(std::exception_ptr error);  // once; runs the callbacks
  bool finished();

 private:
  struct State;
  State& state();
  std::shared_ptr<State> state_ = make_state();
  static std::shared_ptr<State> make_state();
};

using WorkPtr = std::shared_ptr<Work>;

}  // namespace tenon::distributed
