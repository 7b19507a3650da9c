// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_gloo/group.h"

#include <gloo/common/error.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <signal.h>

#include <algorithm>
#include <stdexcept>

#include "plugin_gloo/collectives.h"
#include "tenon/sdk/parallel.h"

namespace tenon::gloo_engine {
namespace {

class Rendezvous : public gloo::rendezvous::Store {
 public:
  Rendezvous(const tn_rendezvous& to, int64_t timeout_ms) : to_(to), timeout_ms_(timeout_ms) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    check(to_.set(to_.context, {key.data(), key.size()}, data.data(), data.size()));
  }
  std::vector<char> get(const std::string& key) override {
    std::vector<char> out;
    fetch(key, timeout_ms_, &out);
    return out;
  }
  void wait(const std::vector<std::string>& keys) override {
    wait(keys, std::chrono::milliseconds(timeout_ms_));
  }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    std::vector<char> out;
    for (const std::string& key : keys) fetch(key, timeout.count(), &out);
  }

 private:
  void fetch(const std::string& key, int64_t ms, std::vector<char>* out) {
    const auto take = [](void* arg, const void* data, size_t n) {
      const auto* p = static_cast<const char*>(data);
      static_cast<std::vector<char>*>(arg)->assign(p, p + n);
    };
    check(to_.get(to_.context, {key.data(), key.size()}, ms, take, out));
  }
  void check(tn_status s) {
    if (s == TN_OK) return;
    const tn_str why = to_.last_error(to_.context);
    throw std::runtime_error(std::string(why.ptr, why.len));
  }
  const tn_rendezvous& to_;
  int64_t timeout_ms_;
};

// Threads take no signals of the program's.
struct BlockSignals {
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  sigset_t before;
};

}  // namespace

Group::Group(const tn_group_options& o) {
  BlockSignals blocked;
  gloo::transport::tcp::attr where;
  where.hostname = std::string(sdk::setting("GLOO_HOST").value_or("127.0.0.1"));
  auto device = gloo::transport::tcp::CreateDevice(where);
  context_ = std::make_shared<gloo::rendezvous::Context>(o.rank, o.size);
  context_->setTimeout(std::chrono::milliseconds(std::max<int64_t>(o.timeout_ms, 1)));
  Rendezvous store(*o.rendezvous, o.timeout_ms);
  context_->connectFullMesh(store, device);
  worker_ = std::thread([this] { work(); });
}

Group::~Group() {
  {
    std::lock_guard held(lock_);
    stop_ = true;
    changed_.notify_all();
  }
  worker_.join();
}

void Group::work() {
  for (;;) {
    std::shared_ptr<Operation> next;
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

std::shared_ptr<Operation> Group::start(const tn_collective_call& call) {
  if (aborted_) throw std::runtime_error("the group was aborted");
  const bool to_one = call.operation == TN_COLLECTIVE_SEND || call.operation == TN_COLLECTIVE_RECV;
  auto op = std::make_shared<Operation>();
  op->run = to_one ? make_transfer(context_, call) : make_collective(context_, call, next_++);
  if (call.flags & TN_COLLECTIVE_BLOCKING) {
    op->execute();
  } else if (to_one) {
    BlockSignals blocked;
    op->thread = std::thread([o = op.get()] { o->execute(); });
  } else {
    std::lock_guard held(lock_);
    queue_.push_back(op);
    changed_.notify_one();
  }
  return op;
}

// A wait for what cannot come ends with an error on all connections, and wakes all who wait.
void Group::abort() {
  if (aborted_.exchange(true) || context_->size == 1) return;
  try {
    char byte = 0;
    auto buffer = context_->createUnboundBuffer(&byte, 1);
    buffer->recv((context_->rank + 1) % context_->size, ~uint64_t{0});
    buffer->waitRecv(std::chrono::milliseconds(1));
  } catch (const std::exception&) {
  }
}

}  // namespace tenon::gloo_engine
