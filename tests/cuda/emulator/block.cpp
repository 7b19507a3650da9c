// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/block.h"

#include <algorithm>
#include <cstring>

namespace tenon::emulator {

std::string text_of(const Dim3& d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

const char* name_of(WarpOp op) {
  static constexpr const char* names[] = {"nothing",          "__syncwarp",      "__shfl_up_sync",
                                          "__shfl_down_sync", "__shfl_xor_sync", "__shfl_sync",
                                          "__ballot_sync",    "__any_sync",      "__all_sync"};
  return names[static_cast<int>(op)];
}

Block::Block(const Launch& l, void (*body)(void*), void* arg, Order order)
    : launch(l), body_(body), arg_(arg), order_(order) {
  const Dim3& b = l.block;
  threads_.resize(std::size_t{b.x} * b.y * b.z);
  std::size_t i = 0;
  for (unsigned z = 0; z < b.z; ++z) {
    for (unsigned y = 0; y < b.y; ++y) {
      for (unsigned x = 0; x < b.x; ++x, ++i) {
        threads_[i].index = {x, y, z};
        threads_[i].linear = static_cast<int32_t>(i);
      }
    }
  }
  warp_epochs_.resize((threads_.size() + 31) / 32);
}

Thread* Block::next_fresh() {
  if (fault_ || fresh_ == threads_.size()) return nullptr;
  const std::size_t i = fresh_++;
  return &threads_[order_ == Order::Forward ? i : threads_.size() - 1 - i];
}

// A fiber runs threads one after another until one of them waits.
void Block::fiber_body(Fiber& self, void* arg) {
  Block& block = *static_cast<Block*>(arg);
  for (;;) {
    for (Thread* t = block.current; t != nullptr; t = block.next_fresh()) {
      t->fiber = &self;
      t->state = Thread::Running;
      block.current = t;
      try {
        block.body_(block.arg_);
      } catch (const Stop&) {
      }
      t->state = Thread::Done;
      t->fiber = nullptr;
      ++block.done_;
    }
    block.idle_.push_back(&self);
    self.leave();
  }
}

void Block::resume(Thread* t) {
  current = t;
  Fiber* f = t->fiber;
  if (f == nullptr) {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(&Block::fiber_body, this));
      f = fibers_.back().get();
    } else {
      f = idle_.back();
      idle_.pop_back();
    }
  }
  f->enter();
}

// Suspends the thread; after a fault of any thread it leaves the kernel.
void Block::wait() {
  Thread* t = current;
  t->state = Thread::Waiting;
  t->fiber->leave();
  current = t;
  if (fault_) throw Stop{};
}

void Block::run(Dim3 at) {
  index = at;
  fresh_ = done_ = at_barrier_ = 0;
  for (Thread& t : threads_) t.state = Thread::Fresh;
  for (auto& [tag, region] : regions_) region->reset();
  for (;;) {
    Thread* t = nullptr;
    if (Thread* fresh = next_fresh()) {
      t = fresh;
    } else if (!ready_.empty()) {
      t = order_ == Order::Forward ? ready_.front() : ready_.back();
      order_ == Order::Forward ? ready_.pop_front() : ready_.pop_back();
    }
    if (t == nullptr) break;
    resume(t);
    if (fault_) break;
  }
  if (!fault_ && done_ != threads_.size()) report_stuck();
  if (fault_) {
    unwind();
    throw Fault(*fault_);
  }
}

void Block::unwind() {
  ready_.clear();
  for (Thread& t : threads_) {
    if (t.state == Thread::Waiting) resume(&t);
  }
}

std::string Block::describe(const Thread& t) const {
  const char* what = t.at_barrier ? "__syncthreads" : name_of(t.op);
  const char* slash = std::strrchr(t.file, '/');
  return std::string(what) + " of " + (slash ? slash + 1 : t.file) + ":" + std::to_string(t.line);
}

void Block::report_stuck() {
  const Thread *waits = nullptr, *other = nullptr;
  for (const Thread& t : threads_) {
    if (t.state == Thread::Waiting && waits == nullptr) waits = &t;
  }
  const bool barrier = waits->at_barrier;
  const std::size_t first = barrier ? 0 : static_cast<std::size_t>(waits->linear / 32 * 32);
  const std::size_t end = barrier ? threads_.size() : std::min(first + 32, threads_.size());
  for (std::size_t i = first; i < end && other == nullptr; ++i) {
    const Thread& t = threads_[i];
    if (!barrier && !(waits->mask >> (i - first) & 1)) continue;
    const bool same = t.state == Thread::Waiting && t.at_barrier == barrier && t.op == waits->op &&
                      t.mask == waits->mask && t.line == waits->line && t.file == waits->file;
    if (!same) other = &t;
  }
  std::string what = "waits at " + describe(*waits);
  if (other != nullptr) {
    what += ", but thread " + text_of(other->index) +
            (other->state == Thread::Done ? " has finished" : " waits at " + describe(*other));
  }
  current = &threads_[static_cast<std::size_t>(waits->linear)];
  try {
    fail(barrier ? FaultKind::Barrier : FaultKind::Warp, what);
  } catch (const Stop&) {
  }
}

void Block::fail(FaultKind kind, const std::string& what) {
  if (!fault_) {
    fault_.emplace(kind, where() + ": " + what);
  }
  throw Stop{};
}

std::string Block::where() const {
  const std::string thread = current ? ", thread " + text_of(current->index) : "";
  return std::string("kernel ") + launch.kernel + ", block " + text_of(index) + thread;
}

void Block::barrier(const char* file, int line) {
  Thread& t = *current;
  t.at_barrier = true;
  t.op = WarpOp::None;
  t.mask = 0;
  t.file = file;
  t.line = line;
  if (++at_barrier_ < threads_.size()) {
    wait();
    return;
  }
  for (const Thread& other : threads_) {
    if (other.line != line || std::strcmp(other.file, file) != 0) {
      fail(FaultKind::Barrier, "waits at " + describe(t) + ", but thread " + text_of(other.index) +
                                   " waits at " + describe(other));
    }
  }
  release_barrier();
}

void Block::release_barrier() {
  ++epoch_;
  at_barrier_ = 0;
  for (Thread& t : threads_) {
    t.at_barrier = false;
    if (&t != current) ready_.push_back(&t);
  }
}

uint64_t Block::warp_op(WarpOp op, uint32_t mask, uint64_t value, int operand, int width,
                        const char* file, int line) {
  Thread& t = *current;
  const int32_t lane = t.linear % 32;
  const std::size_t in_warp =
      std::min<std::size_t>(32, threads_.size() - static_cast<std::size_t>(t.linear - lane));
  if (!(mask >> lane & 1))
    fail(FaultKind::Warp, std::string(name_of(op)) + " with a mask that leaves out its lane");
  if (in_warp < 32 && mask >> in_warp != 0) {
    fail(FaultKind::Warp,
         std::string(name_of(op)) + " with a mask of lanes that the block does not have");
  }
  t.at_barrier = false;
  t.op = op;
  t.mask = mask;
  t.value = value;
  t.operand = operand;
  t.width = width;
  t.file = file;
  t.line = line;
  if (!complete_warp_op(t)) wait();
  return t.result;
}

bool Block::complete_warp_op(Thread& last) {
  Thread* warp = &threads_[static_cast<std::size_t>(last.linear / 32 * 32)];
  for (int i = 0; i < 32; ++i) {
    if (!(last.mask >> i & 1) || warp + i == &last) continue;
    const Thread& t = warp[i];
    const bool same = t.state == Thread::Waiting && !t.at_barrier && t.op == last.op &&
                      t.mask == last.mask && t.line == last.line && t.file == last.file;
    if (!same) return false;
  }
  if (last.op == WarpOp::Sync) ++warp_epochs_[static_cast<std::size_t>(last.linear / 32)];
  for (int i = 0; i < 32; ++i) {
    if (last.mask >> i & 1) set_result(warp[i], warp);
  }
  for (int i = 0; i < 32; ++i) {
    if (!(last.mask >> i & 1)) continue;
    warp[i].op = WarpOp::None;
    if (warp + i != &last) ready_.push_back(warp + i);
  }
  return true;
}

void Block::set_result(Thread& t, Thread* warp) {
  const int lane = t.linear % 32, base = lane & ~(t.width - 1), last = base + t.width - 1;
  int source = lane;
  switch (t.op) {
    case WarpOp::ShuffleUp:
      source = lane - t.operand < base ? lane : lane - t.operand;
      break;
    case WarpOp::ShuffleDown:
      source = lane + t.operand > last ? lane : lane + t.operand;
      break;
    case WarpOp::ShuffleXor:
      source = (lane ^ t.operand) > last ? lane : lane ^ t.operand;
      break;
    case WarpOp::Shuffle:
      source = base + (t.operand & (t.width - 1));
      break;
    default: {
      uint32_t votes = 0;
      for (int i = 0; i < 32; ++i) {
        if (t.mask >> i & 1) votes |= static_cast<uint32_t>(warp[i].value != 0) << i;
      }
      t.result = t.op == WarpOp::Ballot ? votes
                 : t.op == WarpOp::Any  ? votes != 0
                                        : votes == t.mask;
      return;
    }
  }
  if (!(t.mask >> source & 1)) {
    Thread* caller = current;
    current = &t;
    try {
      fail(FaultKind::Warp, std::string(name_of(t.op)) + " from lane " + std::to_string(source) +
                                ", which the mask leaves out");
    } catch (const Stop&) {
      current = caller;
      throw;
    }
  }
  t.result = warp[source].value;
}

SharedRegion* Block::region(const void* tag, const char* name, std::size_t bytes) {
  std::unique_ptr<SharedRegion>& r = regions_[tag];
  if (!r) r = std::make_unique<SharedRegion>(name, bytes);
  return r.get();
}

}  // namespace tenon::emulator
