// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/work.h"

#include <atomic>
#include <mutex>

namespace tenon::distributed {

struct Work::State {
  std::mutex lock;  // fork: works are of no use to a child
  std::atomic<bool> done{false};
  std::exception_ptr error;  // not written once it is done
  std::vector<std::function<void()>> callbacks;
};

std::shared_ptr<Work::State> Work::make_state() { return std::make_shared<State>(); }
Work::State& Work::state() { return *state_; }
Work::~Work() = default;

void Work::finish(std::exception_ptr error) {
  std::vector<std::function<void()>> callbacks;
  {
    std::lock_guard held(state_->lock);
    if (state_->done) return;
    state_->error = std::move(error);
    state_->done = true;
    callbacks.swap(state_->callbacks);
  }
  for (auto& f : callbacks) f();
}

bool Work::finished() { return state_->done; }

bool Work::isSuccess() { return isCompleted() && !exception(); }

std::exception_ptr Work::exception() { return isCompleted() ? state_->error : nullptr; }

void Work::add_callback(std::function<void()> f) {
  {
    std::lock_guard held(state_->lock);
    if (!state_->done) {
      state_->callbacks.push_back(std::move(f));
      return;
    }
  }
  f();
}

std::shared_ptr<Future> Work::getFuture() { return std::make_shared<Future>(shared_from_this()); }

void Future::wait() { work_->wait(); }
bool Future::completed() { return work_->isCompleted(); }
bool Future::hasError() { return completed() && work_->exception(); }

IValue Future::value() {
  wait();
  if (!before_) {
    std::vector<Tensor> results = work_->result();
    return results.empty() ? IValue() : IValue(std::move(results));
  }
  if (!value_) value_ = std::make_shared<IValue>(f_(*before_));
  return *value_;
}

std::shared_ptr<Future> Future::then(std::function<IValue(Future&)> f, const jit::TypePtr&) {
  auto next = std::make_shared<Future>(work_);
  next->before_ = std::make_shared<Future>(*this);
  next->f_ = std::move(f);
  return next;
}

void Future::addCallback(std::function<void(Future&)> f) {
  work_->add_callback([self = *this, f = std::move(f)]() mutable { f(self); });
}

}  // namespace tenon::distributed
