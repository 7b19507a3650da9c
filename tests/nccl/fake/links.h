// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A Unix socket per pair of ranks, and messages that go both ways at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::fake {

struct Message {
  int peer;
  bool sends;
  char* data;
  std::size_t bytes;
  uint64_t kind;  // the same on both sides
};

enum class Outcome { kDone, kStopped, kPeerGone };

class Links {
 public:
  Links(int rank, int size) : rank_(rank), sockets_(static_cast<std::size_t>(size), -1) {}
  ~Links();
  Links(const Links&) = delete;
  // Waits for all ranks; false: it was stopped.
  bool connect(const std::string& name, const std::atomic<bool>& stop);
  // In each direction between two ranks in the order given. Messages that do not match wait until
  // they are stopped, as those of NCCL do.
  Outcome exchange(const std::vector<Message>& messages, const std::atomic<bool>& stop);

 private:
  bool accept_higher(int listener, const std::atomic<bool>& stop);
  bool connect_lower(const std::string& name, const std::atomic<bool>& stop);
  const int rank_;
  std::vector<int> sockets_;
};

}  // namespace tenon::fake
