// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Who of a group is alive, told through the store.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenon/distributed/store.h"

namespace tenon::distributed {

class Liveness {
 public:
  // Begins to say that this rank is alive, over a connection of its own.
  Liveness(const std::shared_ptr<Store>& store, int rank, int size,
           std::chrono::milliseconds period);
  ~Liveness();                                         // says that it leaves
  void begin(const char* operation, uint64_t number);  // what this rank has come to

  struct Verdict {
    std::vector<int> ranks;  // the cause; empty: nobody knows
    std::string text;
  };
  // Takes about five periods where ranks have to be listened for. The first rank to find a cause
  // tells the others, which may find more ranks gone by then.
  Verdict diagnose(uint64_t number);
  std::vector<int> dead();  // listens for five periods; rank 0 where the store does not answer

 private:
  struct Sign {
    std::string beat, operation;
    uint64_t number = 0;
  };
  std::vector<Sign> listen(Store& store) const;
  std::vector<int> silent(Store& store, std::vector<Sign>* last) const;
  void run();

  std::shared_ptr<Store> store_, beats_;
  const int rank_, size_;
  const std::chrono::milliseconds period_;
  std::atomic<const char*> operation_{"nothing"};
  std::atomic<uint64_t> number_{0};
  std::mutex lock_;  // fork: groups are of no use to a child
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tenon::distributed
