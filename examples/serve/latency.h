// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How long answers took.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "request.h"

namespace serve {

// Counts of latencies in classes that are 1 % wide, so that the memory does not grow. Not for
// several threads at once.
class Latencies {
 public:
  void add(Clock::duration latency);
  void add_error() { ++errors_; }
  void add_run() { ++runs_; }
  // Requests, errors, runs, milliseconds and requests per second, as two lines.
  std::string table(Clock::duration total) const;

 private:
  double percentile(double share) const;  // in milliseconds, at most 1 % too large

  static constexpr double kWidth = 1.01;
  std::array<uint64_t, 2500> counts_{};  // of microseconds from kWidth^i
  uint64_t answered_ = 0, errors_ = 0, runs_ = 0;
  double max_us_ = 0;
};

}  // namespace serve
