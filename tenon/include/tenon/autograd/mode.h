// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Per-thread switches of operator calls, in one word: gradient recording, inference, the rules of
// PyTorch 0.4 and 0.2, observers, the search for anomalies, autocast.
#pragma once

#include <cstdint>

#include "tenon/runtime/export.h"

namespace tenon {

namespace autograd {

enum Mode : uint32_t {
  kGradMode = 1,  // record histories (on at start)
  kInferenceMode = 2,
  kEra04 = 4,             // compat::Era04
  kOperatorObserved = 8,  // operator calls are observed (tracing, profiler)
  kAnomaly = 16,          // AnomalyMode: nodes remember the call that made them
  kAnomalyNan = 32,       // with kAnomaly: gradients are searched for NaN
  kAutocast = 64,         // at::autocast is on for some device
  // The switches of tenon/compat/backcompat.h.
  kPointwiseFallback = 128,
  kBroadcastWarning = 256,
  kKeepdimWarning = 512,
  kBatching = 1024,  // inside of a vmap
  // What changes the arguments of pointwise operators, and what ends where an operator begins.
  kOldOperands = kEra04 | kPointwiseFallback | kBroadcastWarning,
  kOldRules = kOldOperands | kKeepdimWarning,
};

// Reads and writes go through functions: thread-locals of a shared library are slow to reach from
// outside.
TENON_API uint32_t mode() noexcept;
TENON_API void set_mode(uint32_t word) noexcept;

}  // namespace autograd

struct GradMode {
  static bool is_enabled() { return autograd::mode() & autograd::kGradMode; }
  static void set_enabled(bool on) {
    autograd::set_mode(on ? autograd::mode() | autograd::kGradMode
                          : autograd::mode() & ~uint32_t{autograd::kGradMode});
  }
};

// Restores the whole word when it goes.
class ModeGuard {
 public:
  explicit ModeGuard(uint32_t word) : before_(autograd::mode()) { autograd::set_mode(word); }
  ~ModeGuard() { autograd::set_mode(before_); }
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  uint32_t before_;
};

struct AutoGradMode : ModeGuard {
  explicit AutoGradMode(bool on)
      : ModeGuard(on ? autograd::mode() | autograd::kGradMode
                     : autograd::mode() & ~uint32_t{autograd::kGradMode}) {}
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
struct EnableGradGuard : AutoGradMode {
  EnableGradGuard() : AutoGradMode(true) {}
};
// Nothing is recorded, and what is made here can never take part in a recording.
struct InferenceMode : ModeGuard {
  explicit InferenceMode(bool on = true)
      : ModeGuard(
            on ? (autograd::mode() | autograd::kInferenceMode) & ~uint32_t{autograd::kGradMode}
               : (autograd::mode() & ~uint32_t{autograd::kInferenceMode}) | autograd::kGradMode) {}
  static bool is_enabled() { return autograd::mode() & autograd::kInferenceMode; }
};

namespace compat {
// PyTorch 0.4's rules on dtypes, comparison, division and factories, for this thread.
struct Era04 : ModeGuard {
  Era04() : ModeGuard(autograd::mode() | autograd::kEra04) {}
};
}  // namespace compat

}  // namespace tenon
