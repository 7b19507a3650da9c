// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_gloo/abortable.h"

#include <gloo/common/error.h>
#include <gloo/transport/context.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace tenon::gloo_engine {

using gloo::transport::UnboundBuffer;

// The buffers that exist.
class Waits {
 public:
  void add(UnboundBuffer* b) {
    const std::lock_guard<std::mutex> lock(mutex_);
    buffers_.push_back(b);
  }
  void remove(UnboundBuffer* b) {
    const std::lock_guard<std::mutex> lock(mutex_);
    buffers_.erase(std::find(buffers_.begin(), buffers_.end(), b));
  }
  void end_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (UnboundBuffer* b : buffers_) {
      b->abortWaitRecv();
      b->abortWaitSend();
    }
  }

 private:
  std::mutex mutex_;  // fork: a group belongs to the process that made it
  std::vector<UnboundBuffer*> buffers_;
};

namespace {

using std::chrono::milliseconds;

class Buffer : public UnboundBuffer {
 public:
  Buffer(std::unique_ptr<UnboundBuffer> of, std::shared_ptr<Waits> waits)
      : UnboundBuffer(of->ptr, of->size), of_(std::move(of)), waits_(std::move(waits)) {
    waits_->add(of_.get());
  }
  ~Buffer() override { waits_->remove(of_.get()); }
  bool waitRecv(int* rank, milliseconds timeout) override {
    return unless_ended(of_->waitRecv(rank, timeout));
  }
  bool waitSend(int* rank, milliseconds timeout) override {
    return unless_ended(of_->waitSend(rank, timeout));
  }
  void abortWaitRecv() override { of_->abortWaitRecv(); }
  void abortWaitSend() override { of_->abortWaitSend(); }
  void send(int to, uint64_t slot, size_t offset, size_t bytes) override {
    of_->send(to, slot, offset, bytes);
  }
  void recv(int from, uint64_t slot, size_t offset, size_t bytes) override {
    of_->recv(from, slot, offset, bytes);
  }
  void recv(std::vector<int> from, uint64_t slot, size_t offset, size_t bytes) override {
    of_->recv(std::move(from), slot, offset, bytes);
  }

 private:
  // gloo's algorithms do not look at what a wait returns.
  static bool unless_ended(bool came) {
    if (!came) throw gloo::IoException("the group was aborted");
    return came;
  }
  std::unique_ptr<UnboundBuffer> of_;
  std::shared_ptr<Waits> waits_;
};

class Transport : public gloo::transport::Context {
 public:
  Transport(std::shared_ptr<gloo::transport::Context> of, std::shared_ptr<Waits> waits)
      : Context(of->rank, of->size), of_(std::move(of)), waits_(std::move(waits)) {
    setTimeout(of_->getTimeout());
  }
  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override { return of_->getPair(rank); }
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override {
    return of_->createPair(rank);
  }
  std::unique_ptr<UnboundBuffer> createUnboundBuffer(void* data, size_t bytes) override {
    return std::make_unique<Buffer>(of_->createUnboundBuffer(data, bytes), waits_);
  }

 private:
  std::shared_ptr<gloo::transport::Context> of_;
  std::shared_ptr<Waits> waits_;
};

}  // namespace

AbortableContext::AbortableContext(int rank, int size)
    : Context(rank, size), waits_(std::make_shared<Waits>()) {}

void AbortableContext::connect(gloo::rendezvous::Store& store,
                               std::shared_ptr<gloo::transport::Device>& device) {
  connectFullMesh(store, device);
  transportContext_ = std::make_shared<Transport>(std::move(transportContext_), waits_);
}

// A wait for what cannot come ends with an error on all connections.
void AbortableContext::abort() {
  if (size == 1) return;
  try {
    char byte = 0;
    auto buffer = createUnboundBuffer(&byte, 1);
    buffer->recv((rank + 1) % size, ~uint64_t{0});
    buffer->waitRecv(milliseconds(1));
  } catch (const std::exception&) {
  }
  waits_->end_all();
}

}  // namespace tenon::gloo_engine
