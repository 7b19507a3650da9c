// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_gloo/group.h"

#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <sched.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/sdk/parallel.h"

namespace tenon::gloo_engine {
namespace {

class Rendezvous : public gloo::rendezvous::Store {
 public:
  Rendezvous(const tn_rendezvous& to, int64_t timeout_ms) : to_(to, timeout_ms) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    to_.set(key, {data.data(), data.size()});
  }
  std::vector<char> get(const std::string& key) override {
    const std::string out = to_.get(key);
    return {out.begin(), out.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) to_.get(key);
  }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) to_.get(key, timeout.count());
  }

 private:
  sdk::Rendezvous to_;
};

// Threads that are started meanwhile do not preempt others as they wake. gloo's thread asks again
// and again for the lock of a connection: one that preempts the holder on its core does so for
// whole time slices, and 4 ranks on 2 cores took 6 ms for what takes them 1.
class StartWithoutPreemption {
 public:
  StartWithoutPreemption() : before_(sched_getscheduler(0)) {
    if (before_ == SCHED_OTHER) set(SCHED_BATCH);
  }
  ~StartWithoutPreemption() {
    if (before_ == SCHED_OTHER) set(SCHED_OTHER);
  }
  StartWithoutPreemption(const StartWithoutPreemption&) = delete;

 private:
  static void set(int policy) {
    const sched_param priority{};
    sched_setscheduler(0, policy, &priority);
  }
  int before_;
};

}  // namespace

Group::Group(const tn_group_options& o) {
  const sdk::BlockSignals blocked;
  const StartWithoutPreemption quietly;
  gloo::transport::tcp::attr where;
  where.hostname = std::string(sdk::setting("GLOO_HOST").value_or("127.0.0.1"));
  auto device = gloo::transport::tcp::CreateDevice(where);
  context_ = std::make_shared<AbortableContext>(o.rank, o.size);
  context_->setTimeout(std::chrono::milliseconds(std::max<int64_t>(o.timeout_ms, 1)));
  Rendezvous store(*o.rendezvous, o.timeout_ms);
  context_->connect(store, device);
}

std::shared_ptr<sdk::CollectiveWork> Group::start(const tn_collective_call& call) {
  if (aborted_) throw std::runtime_error("the group was aborted");
  return queue_.start(std::make_shared<Task>(sdk::is_to_one(call.operation)
                                                 ? make_transfer(context_, call)
                                                 : make_collective(context_, call, next_++)),
                      call);
}

void Group::abort() {
  if (!aborted_.exchange(true)) context_->abort();
}

}  // namespace tenon::gloo_engine
