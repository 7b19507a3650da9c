// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A communicator of the fake NCCL. Its thread makes the operations that streams have come to.
#pragma once

#include <nccl.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "links.h"

namespace tenon::fake {

struct Operation {
  std::vector<Message> messages;
  std::function<void()> finish;                            // with what has come
  std::vector<std::vector<char>> room;                     // of what comes
  std::vector<std::pair<void*, std::size_t>> overwritten;  // no longer what it was, not yet more
  std::atomic<bool> is_reached{false}, is_done{false};
};

}  // namespace tenon::fake

struct ncclComm {
  ncclComm(std::string name, int rank, int size);
  ~ncclComm();  // ends what is under way
  // Comes after what is in the stream, which waits for it.
  ncclResult_t enqueue(std::shared_ptr<tenon::fake::Operation> operation, cudaStream_t stream);
  ncclResult_t state();
  void finalize() { finalizes = true; }

  const std::string name;
  const int rank, size;

 private:
  void run();
  std::shared_ptr<tenon::fake::Operation> next();
  void execute(tenon::fake::Operation& operation);

  tenon::fake::Links links;
  std::mutex lock;
  std::deque<std::shared_ptr<tenon::fake::Operation>> queue;  // under lock
  std::atomic<bool> stop{false}, is_joined{false}, finalizes{false};
  std::atomic<int> fault{ncclSuccess};
  std::thread thread;
};
