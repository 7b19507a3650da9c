// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "comm.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "settings.h"
#include "tests/cuda/fake/control.h"

using namespace tenon::fake;

ncclComm::ncclComm(std::string called, int r, int n)
    : name(std::move(called)), rank(r), size(n), links(r, n), thread([this] { run(); }) {}

ncclComm::~ncclComm() {
  stop = true;
  thread.join();
  for (const auto& operation : queue) operation->is_done = true;  // streams go on
}

ncclResult_t ncclComm::enqueue(std::shared_ptr<Operation> operation, cudaStream_t stream) {
  using Held = std::shared_ptr<Operation>;
  const auto drop = [](void* p) { delete static_cast<Held*>(p); };
  const auto reach = [](void* p) {
    for (const auto& [data, bytes] : (*static_cast<Held*>(p))->overwritten)
      std::memset(data, 0xff, bytes);
    (*static_cast<Held*>(p))->is_reached = true;
  };
  const auto is_done = [](void* p) { return (*static_cast<Held*>(p))->is_done ? 1 : 0; };
  {
    std::lock_guard held(lock);
    queue.push_back(operation);
  }
  if (tenon_fake_enqueue_owned(stream, reach, drop, new Held(operation)) != cudaSuccess ||
      tenon_fake_enqueue_until(stream, is_done, drop, new Held(operation)) != cudaSuccess)
    return ncclUnhandledCudaError;
  return ncclSuccess;
}

ncclResult_t ncclComm::state() {
  std::lock_guard held(lock);
  if (fault != ncclSuccess) return static_cast<ncclResult_t>(fault.load());
  return !is_joined || (finalizes && !queue.empty()) ? ncclInProgress : ncclSuccess;
}

std::shared_ptr<Operation> ncclComm::next() {
  std::lock_guard held(lock);
  return queue.empty() || !queue.front()->is_reached ? nullptr : queue.front();
}

void ncclComm::execute(Operation& operation) {
  usleep(static_cast<useconds_t>(std::atoi(setting("delay_ms").c_str())) * 1000);
  while (!setting("hang").empty() && !stop) usleep(1000);
  const Outcome outcome = links.exchange(operation.messages, stop);
  if (outcome == Outcome::kPeerGone && setting("hang").empty()) fault = ncclRemoteError;
  while (outcome == Outcome::kPeerGone && !stop) usleep(1000);
  if (outcome != Outcome::kDone) return;
  if (operation.finish) operation.finish();
  std::lock_guard held(lock);
  operation.is_done = true;
  queue.pop_front();
}

void ncclComm::run() {
  while (!setting("hang").empty() && !stop) usleep(1000);
  is_joined = links.connect(name, stop);
  while (!stop) {
    if (const auto operation = next())
      execute(*operation);
    else
      usleep(100);
  }
}
