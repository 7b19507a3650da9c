// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/emulator.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/cuda/emulator/block.h"

namespace tenon::emulator {
namespace {

std::atomic<Order> g_order{Order::Forward};
thread_local Block* t_block = nullptr;

// Whether an access at `then` is ordered before one at `now`.
bool is_ordered(const Moment& then, const Moment& now) {
  if (then.thread < 0 || then.thread == now.thread || then.block_epoch != now.block_epoch)
    return true;
  return then.warp == now.warp && then.warp_epoch != now.warp_epoch;
}

std::string element(const SharedRegion& r, std::size_t offset, std::size_t bytes) {
  return r.name + "[" + std::to_string(offset / bytes) + "]";
}

void check_bounds(SharedRegion* r, std::size_t offset, std::size_t bytes) {
  if (offset + bytes <= r->data.size() && offset + bytes >= bytes) return;
  const int64_t at = static_cast<int64_t>(offset) / static_cast<int64_t>(bytes);
  t_block->fail(FaultKind::Outside, "index " + std::to_string(at) + " of " + r->name +
                                        ", which has " + std::to_string(r->data.size() / bytes) +
                                        " elements in shared memory");
}

[[noreturn]] void fail_race(const SharedRegion& r, std::size_t offset, std::size_t bytes,
                            const char* now, const char* then, const Moment& other) {
  t_block->fail(FaultKind::Race, std::string(now) + " " + element(r, offset, bytes) +
                                     ", which thread " + std::to_string(other.thread) + " " + then +
                                     " since the last barrier");
}

void mark_read(SharedRegion::Cell& c, const Moment& now) {
  const bool same_epoch = c.reader.thread >= 0 && c.reader.block_epoch == now.block_epoch;
  c.many_readers = same_epoch && (c.many_readers || c.reader.warp != now.warp);
  c.reader = now;
}

#if defined(__SANITIZE_ADDRESS__)
// Called when the address sanitizer ends the process: prints kernel, block and thread after its
// report.
void print_position() {
  if (t_block != nullptr) std::fprintf(stderr, "emulated: %s\n", t_block->where().c_str());
}
#endif

std::mutex g_schedule_lock;

Schedule& schedule() {
  static Schedule s = [] {
    Schedule given;
    if (const char* seed = std::getenv("TENON_EMULATOR_SEED"))
      given.seed = std::strtoull(seed, nullptr, 10);
    if (const char* threads = std::getenv("TENON_EMULATOR_THREADS"))
      given.threads = std::max(1, std::atoi(threads));
    return given;
  }();
  return s;
}

// The blocks of a launch, shared by the threads that run them.
class Blocks {
 public:
  Blocks(const Launch& launch, uint64_t seed) : grid_(launch.grid), seed_(seed), random_(seed) {
    count_ = std::size_t{grid_.x} * grid_.y * grid_.z;
    if (seed == 0) return;
    order_.resize(count_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t i = count_; i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
  }
  std::size_t count() const { return count_; }

  void work(const Launch& launch, void (*body)(void*), void* arg) {
    Block block(launch, body, arg, g_order);
    Block* outer = t_block;
    t_block = &block;
    try {
      for (std::size_t i; (i = next_++) < count_;) {
        const std::size_t n = order_.empty() ? i : order_[i];
        if (seed_ != 0) block.set_order((n ^ seed_) & 1 ? Order::Reverse : Order::Forward);
        const auto [x, y, z] =
            std::tuple(n % grid_.x, n / grid_.x % grid_.y, n / grid_.x / grid_.y);
        block.run({static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)});
      }
    } catch (const Fault& e) {
      next_ = count_;
      std::lock_guard<std::mutex> hold(lock_);
      if (!fault) fault.emplace(e);
    }
    t_block = outer;
  }

  std::optional<Fault> fault;

 private:
  Dim3 grid_;
  uint64_t seed_;
  std::mt19937_64 random_;
  std::size_t count_;
  std::vector<std::size_t> order_;  // empty: in the order of their indices
  std::atomic<std::size_t> next_{0};
  std::mutex lock_;
};

}  // namespace

void set_order(Order order) { g_order = order; }

void set_schedule(const Schedule& s) {
  std::lock_guard<std::mutex> hold(g_schedule_lock);
  schedule() = s;
}

void run(const Launch& launch, void (*body)(void*), void* arg) {
#if defined(__SANITIZE_ADDRESS__)
  // Each time: other libraries of the process have emulators, too.
  __sanitizer_set_death_callback(print_position);
#endif
  std::unique_lock<std::mutex> hold(g_schedule_lock);
  const Schedule s = schedule();
  hold.unlock();
  Blocks blocks(launch, s.seed);
  std::vector<std::thread> others;
  for (std::size_t i = 1;
       i < std::min<std::size_t>(static_cast<std::size_t>(s.threads), blocks.count()); ++i) {
    others.emplace_back([&] { blocks.work(launch, body, arg); });
  }
  blocks.work(launch, body, arg);
  for (std::thread& t : others) t.join();
  if (blocks.fault) throw Fault(*blocks.fault);
}

const Dim3& thread_index() { return t_block->current->index; }
const Dim3& block_index() { return t_block->index; }
const Dim3& block_size() { return t_block->launch.block; }
const Dim3& grid_size() { return t_block->launch.grid; }

void barrier(const char* file, int line) { t_block->barrier(file, line); }

uint64_t warp_op(WarpOp op, uint32_t mask, uint64_t value, int operand, int width, const char* file,
                 int line) {
  return t_block->warp_op(op, mask, value, operand, width, file, line);
}

void fail(FaultKind kind, const std::string& what) { t_block->fail(kind, what); }

SharedRegion* shared_region(const void* tag, const char* name, std::size_t bytes) {
  return t_block->region(tag, name, tag == nullptr ? t_block->launch.shared_bytes : bytes);
}

char* shared_bytes(SharedRegion* region) { return region->data.data(); }

void check_read(SharedRegion* r, std::size_t offset, std::size_t bytes) {
  check_bounds(r, offset, bytes);
  SharedRegion::Cell& c = r->cells[offset];
  if (!c.written) {
    t_block->fail(FaultKind::Unwritten,
                  "reads " + element(*r, offset, bytes) + ", which nothing has written");
  }
  const Moment now = t_block->now();
  if (!is_ordered(c.writer, now)) fail_race(*r, offset, bytes, "reads", "wrote", c.writer);
  mark_read(c, now);
}

void check_write(SharedRegion* r, std::size_t offset, std::size_t bytes, const void* value) {
  check_bounds(r, offset, bytes);
  SharedRegion::Cell& c = r->cells[offset];
  const Moment now = t_block->now();
  const bool same = c.written && std::memcmp(r->data.data() + offset, value, bytes) == 0;
  if (!same && c.written && !is_ordered(c.writer, now))
    fail_race(*r, offset, bytes, "writes", "wrote", c.writer);
  const bool read_now = c.reader.thread >= 0 && c.reader.block_epoch == now.block_epoch;
  if (!same && read_now && (c.many_readers || !is_ordered(c.reader, now))) {
    fail_race(*r, offset, bytes, "writes", "read", c.reader);
  }
  c.written = true;
  c.atomic = false;
  c.writer = now;
}

void check_atomic(SharedRegion* r, std::size_t offset, std::size_t bytes) {
  check_bounds(r, offset, bytes);
  SharedRegion::Cell& c = r->cells[offset];
  if (!c.written) {
    t_block->fail(FaultKind::Unwritten,
                  "adds to " + element(*r, offset, bytes) + ", which nothing has written");
  }
  const Moment now = t_block->now();
  if (!c.atomic && !is_ordered(c.writer, now))
    fail_race(*r, offset, bytes, "adds to", "wrote", c.writer);
  c.atomic = true;
  c.writer = now;
}

}  // namespace tenon::emulator
