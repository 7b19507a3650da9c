// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// gloo with connections of its own, and its own sum.
#include "bench/ranks/bare.h"

#ifdef BENCH_GLOO
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#endif

namespace bench {

#ifdef BENCH_GLOO
namespace {

class Meeting : public gloo::rendezvous::Store {
 public:
  explicit Meeting(std::shared_ptr<tenon::distributed::Store> store) : store_(std::move(store)) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_->set("bare/" + key, std::vector<uint8_t>(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const auto data = store_->get("bare/" + key);
    return {data.begin(), data.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) store_->wait({"bare/" + key});
  }

 private:
  std::shared_ptr<tenon::distributed::Store> store_;
};

class BareGloo : public Bare {
 public:
  explicit BareGloo(const tenon::distributed::ProcessGroup& group)
      : context_(std::make_shared<gloo::rendezvous::Context>(group.getRank(), group.getSize())) {
    gloo::transport::tcp::attr where;
    where.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(where);
    Meeting store(group.getStore()->clone());
    context_->connectFullMesh(store, device);
  }
  void all_reduce(float* data, std::size_t n) override {
    gloo::AllreduceOptions o(context_);
    o.setOutput(data, n);
    o.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    gloo::allreduce(o);
  }
  void broadcast(float* data, std::size_t n) override {
    gloo::BroadcastOptions o(context_);
    o.setOutput(data, n);
    o.setRoot(0);
    gloo::broadcast(o);
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

}  // namespace

std::unique_ptr<Bare> make_bare_gloo(const tenon::distributed::ProcessGroup& group) {
  return std::make_unique<BareGloo>(group);
}
#else
std::unique_ptr<Bare> make_bare_gloo(const tenon::distributed::ProcessGroup&) { return nullptr; }
#endif

}  // namespace bench
