// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Panels (pack.h): which copies of a plan can be panels, and the slots of a call, in which threads
// hold the panels of a block for as long as they run items of it.
#pragma once

#include <atomic>

#include "plugin_llvm/nest_loops.h"

namespace tenon::llvm_loops {

// Of a program whose tasks have arrays of their own.
inline constexpr int kMaxArrays = 32;

// Items of a plan by blocks of the vector loop, which are outside of the tiles.
struct Blocks {
  int64_t items = 1;              // of a block
  int64_t along = 1;              // blocks of the vector loop
  int64_t width = 1, extent = 1;  // elements of a block, and of all
  std::vector<int64_t> outer;     // extents of the loops outside, which count blocks, too
};

// None where one block reads what others do, too. `at`: where the array lies.
std::optional<Panel> find_panel(const Spec& spec, const NestLoops& loops,
                                const lp::Binding& binding, const lp::Placement& at, int array,
                                int64_t width);
Blocks find_blocks(const Spec& spec, const NestLoops& loops, int64_t width);

inline constexpr int kMaxSlots = 64;

class Slots {
 public:
  // The memory of `count` slots, at most kMaxSlots.
  Slots(char* memory, int64_t bytes_of_one, int count)
      : memory_(memory), bytes_(bytes_of_one), count_(count) {
    for (int i = 0; i < count; ++i) held_[i].store(-1, std::memory_order_relaxed);
  }

  // One that has the block if there is such a free one. Waits where threads outnumber slots.
  int take(int64_t block);
  void give_back(int slot) { taken_.fetch_and(~(uint64_t{1} << slot), std::memory_order_release); }
  char* memory(int slot) const { return memory_ + slot * bytes_; }
  int64_t held(int slot) const { return held_[slot].load(std::memory_order_relaxed); }
  void hold(int slot, int64_t block) { held_[slot].store(block, std::memory_order_relaxed); }

 private:
  int find_free(int64_t block) const;

  char* memory_;
  int64_t bytes_;
  int count_;
  std::atomic<uint64_t> taken_{0};
  std::atomic<int64_t> held_[kMaxSlots];  // -1: none
};

}  // namespace tenon::llvm_loops
