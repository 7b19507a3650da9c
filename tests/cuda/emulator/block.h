// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The threads of a block and what they wait for.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/fiber.h"
#include "tests/cuda/emulator/shared_region.h"

namespace tenon::emulator {

// Thrown through a kernel's frames to leave it.
struct Stop {};

struct Thread {
  enum State : uint8_t { Fresh, Running, Waiting, Done };
  Dim3 index;
  int32_t linear = 0;
  State state = Fresh;
  bool at_barrier = false;
  WarpOp op = WarpOp::None;
  const char* file = nullptr;
  int line = 0;
  uint32_t mask = 0;
  int operand = 0, width = 32;
  uint64_t value = 0, result = 0;
  Fiber* fiber = nullptr;
};

class Block {
 public:
  Block(const Launch& launch, void (*body)(void*), void* arg, Order order);
  void run(Dim3 index);  // throws Fault
  void set_order(Order order) { order_ = order; }

  void barrier(const char* file, int line);
  uint64_t warp_op(WarpOp op, uint32_t mask, uint64_t value, int operand, int width,
                   const char* file, int line);
  [[noreturn]] void fail(FaultKind kind, const std::string& what);
  std::string where() const;  // kernel, block and the thread that runs
  SharedRegion* region(const void* tag, const char* name, std::size_t bytes);
  Moment now() const {
    const int32_t warp = current->linear / 32;
    return {current->linear, warp, epoch_, warp_epochs_[static_cast<std::size_t>(warp)]};
  }

  const Launch& launch;
  Dim3 index;
  Thread* current = nullptr;

 private:
  static void fiber_body(Fiber& self, void* arg);
  Thread* next_fresh();
  void resume(Thread* t);
  void wait();
  void unwind();
  void report_stuck();
  void release_barrier();
  bool complete_warp_op(Thread& last);
  void set_result(Thread& t, Thread* warp);
  std::string describe(const Thread& t) const;

  void (*body_)(void*);
  void* arg_;
  Order order_;
  std::vector<Thread> threads_;
  std::deque<Thread*> ready_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::map<const void*, std::unique_ptr<SharedRegion>> regions_;
  std::vector<uint32_t> warp_epochs_;
  uint32_t epoch_ = 0;
  std::size_t fresh_ = 0, done_ = 0, at_barrier_ = 0;
  std::optional<Fault> fault_;
};

std::string text_of(const Dim3& d);
const char* name_of(WarpOp op);

}  // namespace tenon::emulator
