// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which threads are inside code that uses plugins, so that a plugin can be unmapped safely.
//
// A thread notes that it is inside with a plain store before it looks anything up. The unloading
// thread first removes what can be looked up, then makes every thread's stores visible with
// membarrier(2), then waits until each thread that was inside has been outside once. So a call pays
// two stores, and the barrier is paid by the unload.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/runtime/export.h"

namespace tenon::core {

// One per thread: the depth of calls in the low bits, and above them how often the thread has left
// the outermost one.
using FlightWord = std::atomic<uint64_t>;
inline constexpr uint64_t kFlightDepth = 0xffff, kFlightTrip = kFlightDepth + 1;

extern __thread FlightWord* t_flight __attribute__((tls_model("initial-exec")));
TENON_COLD FlightWord* join_flights();

// While one lives, no kernel entry that this thread finds is freed and no code that it calls is
// unmapped.
class InFlight {
 public:
  InFlight() : word_(TENON_LIKELY(t_flight != nullptr) ? t_flight : join_flights()) {
    before_ = word_->load(std::memory_order_relaxed);
    word_->store(before_ + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~InFlight() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    word_->store((before_ & kFlightDepth) == 0 ? before_ + kFlightTrip : before_,
                 std::memory_order_release);
  }
  InFlight(const InFlight&) = delete;

 private:
  FlightWord* word_;
  uint64_t before_;
};

bool in_flight() noexcept;  // this thread

// Waits for every call that began before. NotImplementedError where the system has no membarrier.
void drain_flights();

}  // namespace tenon::core
