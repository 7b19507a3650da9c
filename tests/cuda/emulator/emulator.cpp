// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/emulator.h"

#include <atomic>
#include <cstring>

#include "tests/cuda/emulator/block.h"

namespace tenon::emulator {
namespace {

std::atomic<Order> g_order{Order::Forward};
thread_local Block* t_block = nullptr;

// Whether what was done then is ordered before what happens now.
bool ordered(const Moment& then, const Moment& now) {
  if (then.thread < 0 || then.thread == now.thread || then.block_epoch != now.block_epoch) return true;
  return then.warp == now.warp && then.warp_epoch != now.warp_epoch;
}

std::string element(const SharedRegion& r, std::size_t offset, std::size_t bytes) {
  return r.name + "[" + std::to_string(offset / bytes) + "]";
}

void inside(SharedRegion* r, std::size_t offset, std::size_t bytes) {
  if (offset + bytes <= r->data.size() && offset + bytes >= bytes) return;
  const int64_t at = static_cast<int64_t>(offset) / static_cast<int64_t>(bytes);
  t_block->fail(FaultKind::Outside, "index " + std::to_string(at) + " of " + r->name + ", which has " +
                                        std::to_string(r->data.size() / bytes) + " elements in shared memory");
}

[[noreturn]] void race(const SharedRegion& r, std::size_t offset, std::size_t bytes, const char* now, const char* then,
                       const Moment& other) {
  t_block->fail(FaultKind::Race, std::string(now) + " " + element(r, offset, bytes) + ", which thread " +
                                     std::to_string(other.thread) + " " + then + " since the last barrier");
}

void mark_read(SharedRegion::Cell& c, const Moment& now) {
  const bool same_epoch = c.reader.thread >= 0 && c.reader.block_epoch == now.block_epoch;
  c.many_readers = same_epoch && (c.many_readers || c.reader.warp != now.warp);
  c.reader = now;
}

}  // namespace

void set_order(Order order) { g_order = order; }

void run(const Launch& launch, void (*body)(void*), void* arg) {
  Block block(launch, body, arg, g_order);
  Block* outer = t_block;
  t_block = &block;
  try {
    for (unsigned z = 0; z < launch.grid.z; ++z) {
      for (unsigned y = 0; y < launch.grid.y; ++y) {
        for (unsigned x = 0; x < launch.grid.x; ++x) block.run({x, y, z});
      }
    }
  } catch (...) {
    t_block = outer;
    throw;
  }
  t_block = outer;
}

const Dim3& thread_index() { return t_block->current->index; }
const Dim3& block_index() { return t_block->index; }
const Dim3& block_size() { return t_block->launch.block; }
const Dim3& grid_size() { return t_block->launch.grid; }

void barrier(const char* file, int line) { t_block->barrier(file, line); }

uint64_t warp_op(WarpOp op, uint32_t mask, uint64_t value, int operand, int width, const char* file, int line) {
  return t_block->warp_op(op, mask, value, operand, width, file, line);
}

void fail(FaultKind kind, const std::string& what) { t_block->fail(kind, what); }

SharedRegion* shared_region(const void* tag, const char* name, std::size_t bytes) {
  return t_block->region(tag, name, tag == nullptr ? t_block->launch.shared_bytes : bytes);
}

char* shared_bytes(SharedRegion* region) { return region->data.data(); }

void check_read(SharedRegion* r, std::size_t offset, std::size_t bytes) {
  inside(r, offset, bytes);
  SharedRegion::Cell& c = r->cells[offset];
  if (!c.written) {
    t_block->fail(FaultKind::Unwritten, "reads " + element(*r, offset, bytes) + ", which nothing has written");
  }
  const Moment now = t_block->now();
  if (!ordered(c.writer, now)) race(*r, offset, bytes, "reads", "wrote", c.writer);
  mark_read(c, now);
}

void check_write(SharedRegion* r, std::size_t offset, std::size_t bytes, const void* value) {
  inside(r, offset, bytes);
  SharedRegion::Cell& c = r->cells[offset];
  const Moment now = t_block->now();
  const bool same = c.written && std::memcmp(r->data.data() + offset, value, bytes) == 0;
  if (!same && c.written && !ordered(c.writer, now)) race(*r, offset, bytes, "writes", "wrote", c.writer);
  const bool read_now = c.reader.thread >= 0 && c.reader.block_epoch == now.block_epoch;
  if (!same && read_now && (c.many_readers || !ordered(c.reader, now))) {
    race(*r, offset, bytes, "writes", "read", c.reader);
  }
  c.written = true;
  c.atomic = false;
  c.writer = now;
}

void check_atomic(SharedRegion* r, std::size_t offset, std::size_t bytes) {
  inside(r, offset, bytes);
  SharedRegion::Cell& c = r->cells[offset];
  if (!c.written) {
    t_block->fail(FaultKind::Unwritten, "adds to " + element(*r, offset, bytes) + ", which nothing has written");
  }
  const Moment now = t_block->now();
  if (!c.atomic && !ordered(c.writer, now)) race(*r, offset, bytes, "adds to", "wrote", c.writer);
  c.atomic = true;
  c.writer = now;
}

}  // namespace tenon::emulator
