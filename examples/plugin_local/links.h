// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Messages between the ranks of a group on one machine: a Unix socket per pair, and a thread that
// puts what comes into a box. A network can be simulated, see the README.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenon/sdk/collective_task.h"

namespace local {

using Clock = std::chrono::steady_clock;

struct Message {
  int from;
  uint64_t channel;
  std::string bytes;
  Clock::time_point due;  // from then on it is there
};

class Links {
 public:
  explicit Links(const tn_group_options& options);  // waits for all ranks
  ~Links();
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(sockets_.size()); }
  void send(int to, uint64_t channel, const void* data, size_t bytes);
  // The first message of the channel, of any rank for TN_COLLECTIVE_ANY_SOURCE, into data.
  // std::runtime_error: it has another length, the rank is gone, or it does not come until `end`.
  int receive(int from, uint64_t channel, void* data, size_t bytes, Clock::time_point end);
  void abort();

 private:
  void read();
  Message take(int from, uint64_t channel, Clock::time_point end);
  bool read_message(int from);

  const int rank_;
  std::vector<int> sockets_;  // by rank; -1: this one, or gone
  std::vector<Clock::time_point> busy_until_;
  std::mutex lock_, sending_;
  std::condition_variable changed_;
  std::list<Message> box_;  // under lock_, as what follows
  std::vector<bool> gone_;
  bool aborted_ = false;
  std::thread reader_;
};

}  // namespace local
