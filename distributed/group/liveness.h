// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Who of a group is alive, told through the store.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "distributed/group/fingerprint.h"
#include "tenon/distributed/store.h"

namespace tenon::distributed {

class Liveness {
 public:
  // Begins to say that this rank is alive, over a connection of its own.
  Liveness(const std::shared_ptr<Store>& store, int rank, int size,
           std::chrono::milliseconds period);
  ~Liveness();  // says that it leaves
  // `abort` is called from a thread of this object when a collective waits and a cause is known why
  // it cannot end: a rank came with another one, or others found a rank gone.
  void watch(std::function<void()> abort);
  void begin(Fingerprint operation, uint64_t number);  // the collective that this rank has come to
  void end(uint64_t number);

  struct Verdict {
    std::vector<int> ranks;  // the cause; empty: nobody knows
    std::string text;
  };
  // Why this rank's operation failed: a rank came with another one, is gone or is behind. Takes
  // about five periods where ranks have to be listened for. The first rank to find a cause tells
  // the others, which may find more ranks gone by then. Of a send or receive, `number` is that of
  // the collective before it.
  Verdict diagnose(uint64_t number, const Fingerprint& operation);
  std::vector<int> dead();  // listens for five periods; rank 0 where the store does not answer

 private:
  struct Came {
    uint64_t number = 0;
    std::string key, operation;  // key: of the operation
  };
  struct Sign {
    std::string beat;
    std::vector<Came> recent;  // the last one first
    uint64_t number() const { return recent.empty() ? 0 : recent[0].number; }
    const Came* find(uint64_t number) const;
  };
  struct Waiting {
    uint64_t number = 0;
    bool waits = false;
  };
  std::vector<Sign> listen(Store& store) const;
  std::vector<int> silent(Store& store, std::vector<Sign>* last) const;
  Verdict find_gone(const std::vector<int>& silent);
  Verdict find_behind(const std::vector<Sign>& last, uint64_t number) const;
  Verdict find_other(Store& store, const std::vector<Sign>& last, uint64_t number,
                     const Fingerprint& operation) const;
  Verdict find_earlier_other(Store& store, uint64_t number) const;
  void look_for_cause(uint64_t number, const Fingerprint& operation);
  std::string recent_text() const;
  void run();

  std::shared_ptr<Store> store_, beats_;
  const int rank_, size_;
  const std::chrono::milliseconds period_;
  std::mutex lock_;  // fork: groups are of no use to a child
  std::condition_variable changed_;
  // A rank may have gone on from what others wait in.
  static constexpr std::size_t kRecent = 8;
  Waiting now_;                              // under lock_, as what follows
  std::array<Fingerprint, kRecent> recent_;  // by number
  std::function<void()> abort_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tenon::distributed
