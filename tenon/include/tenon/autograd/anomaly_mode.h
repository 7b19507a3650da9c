// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The search for the call whose gradient fails. While it is on, each recorded call remembers its
// operator, the shapes of its arguments and the stack; a backward pass that throws, or that finds a
// NaN in a gradient, passes what the failing node remembers to the warning handler, as category
// "anomaly", and what is remembered by the node of an earlier pass that made that one. Recording
// takes several times as long, so it is for debugging.
#pragma once

#include "tenon/autograd/mode.h"

namespace tenon::autograd {

// Of this thread; in libtorch, of all threads.
struct AnomalyMode {
  static bool is_enabled() { return mode() & kAnomaly; }
  static bool should_check_nan() { return mode() & kAnomalyNan; }
  static void set_enabled(bool on, bool check_nan = true) {
    set_mode((mode() & ~uint32_t{kAnomaly | kAnomalyNan}) | (on ? uint32_t{kAnomaly} : 0u) |
             (check_nan ? uint32_t{kAnomalyNan} : 0u));
  }
};

// check_nan: a gradient with a NaN is an error of the backward pass that names the node.
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true)
      : before_(AnomalyMode::is_enabled()), checked_before_(AnomalyMode::should_check_nan()) {
    AnomalyMode::set_enabled(true, check_nan);
  }
  ~DetectAnomalyGuard() { AnomalyMode::set_enabled(before_, checked_before_); }
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool before_, checked_before_;
};

}  // namespace tenon::autograd
