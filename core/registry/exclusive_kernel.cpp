// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/registry/exclusive_kernel.h"

#include <pthread.h>

#include <mutex>
#include <utility>

#include "runtime/base/threads.h"

namespace tenon::core {
namespace {

// One for all plugins: kernels of two of them may call each other's operators. No recursive one,
// which a forked child, whose thread has another id, could not unlock.
std::mutex g_lock;  // fork: its handlers take it
thread_local int t_depth = 0;

void take() {
  if (t_depth++ == 0) g_lock.lock();
}
void give() {
  if (--t_depth == 0) g_lock.unlock();
}
[[maybe_unused]] const int g_fork_handlers = pthread_atfork(take, give, give);

class Turn {
 public:
  Turn() {
    take();
    inside_ = exchange_parallel_region(true);
  }
  ~Turn() {
    exchange_parallel_region(inside_);
    give();
  }
  Turn(const Turn&) = delete;

 private:
  bool inside_;
};

const SerialKernel& of(const tn_call* call) {
  return *static_cast<const SerialKernel*>(call->state);
}

tn_status run(tn_call* call) {
  const tn_kernel& own = *of(call).own;
  Turn turn;
  call->state = own.state;
  return own.run(call);
}

// The same frame goes to run next.
tn_status workspace(tn_call* call, uint64_t* bytes) {
  const tn_kernel& own = *of(call).own;
  Turn turn;
  void* state = std::exchange(call->state, own.state);
  tn_status status = own.workspace(call, bytes);
  call->state = state;
  return status;
}

tn_status supports(const tn_call* call) {
  const tn_kernel& own = *of(call).own;
  Turn turn;
  tn_call seen = *call;
  seen.state = own.state;
  return own.supports(&seen);
}

}  // namespace

std::unique_ptr<SerialKernel> serialized(const tn_kernel& own) {
  auto serial = std::make_unique<SerialKernel>(SerialKernel{own, &own});
  serial->kernel.state = serial.get();
  serial->kernel.run = run;
  if (own.workspace) serial->kernel.workspace = workspace;
  if (own.supports) serial->kernel.supports = supports;
  return serial;
}

}  // namespace tenon::core
