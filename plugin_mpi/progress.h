// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// MPI moves bytes while someone calls it: a thread for works that nobody waits for, or that MPI
// could not take back.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::mpi_engine {

// What MPI moves on.
class Moved {
 public:
  virtual ~Moved() = default;
  virtual bool move_on() = 0;  // true: MPI is done with it
  virtual bool is_waited_for() const = 0;
  virtual uint64_t steps() const = 0;  // grows when move_on() has found something to do
};

// Pauses of a loop that asks again and again: at first none, then other threads' turns, then up to
// a millisecond. One that is not eager begins with the last.
class Backoff {
 public:
  explicit Backoff(bool eager) : first_(eager ? 0 : kYield), count_(first_) {}
  void pause();
  void reset() { count_ = first_; }

 private:
  static constexpr uint32_t kSpin = 200, kYield = 5000;
  uint32_t first_, count_;
};

class Progress {
 public:
  static Progress& instance();
  void add(std::shared_ptr<Moved> work);
  bool stop();  // false: something is under way that does not end

 private:
  void run();

  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Moved>> works_;  // under lock_, as what follows
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tenon::mpi_engine
