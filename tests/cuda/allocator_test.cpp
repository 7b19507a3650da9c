// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Core's caching allocator over the device's raw one.
#include <deque>
#include <random>

#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaAllocator = Cuda;

struct LiveBlock {
  core::Block block;
  unsigned char value;
  tn_stream* stream;
};

core::Block allocate(uint64_t bytes, tn_stream* s = nullptr) {
  return core::cache_alloc(cuda_id(), bytes, s);
}
void release(const core::Block& b, tn_stream* s = nullptr) { core::cache_free(cuda_id(), b, s); }

void write(const LiveBlock& h) {
  const tn_device_api& a = cuda_api();
  cuda_check(
      a.fill(a.context, 0, h.block.handle, h.block.offset, &h.value, 1, h.block.bytes, h.stream));
}

// Every byte of the block still has the value written last.
void check_bytes(const LiveBlock& h) {
  const tn_device_api& a = cuda_api();
  std::vector<unsigned char> seen(h.block.bytes);
  cuda_check(a.copy(a.context, kHost, seen.data(), 0, cuda_device(0), h.block.handle,
                    h.block.offset, seen.size(), h.stream));
  for (unsigned char c : seen) ASSERT_EQ(c, h.value);
}

TEST_F(CudaAllocator, AFreedBlockServesItsStreamAgainAtOnce) {
  const core::Block a = allocate(4096);
  release(a);
  const int64_t before = tenon_fake_calls(nullptr);
  const core::Block b = allocate(4096);
  EXPECT_EQ(a.handle, b.handle);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(tenon_fake_calls(nullptr), before) << "the runtime was called";
  release(b);
}

TEST_F(CudaAllocator, AnotherStreamGetsNoBlockOfABusyOne) {
  OnStream one, two;
  LiveBlock first{allocate(4096, one.get()), 1, one.get()};
  write(first);
  release(first.block, one.get());
  const int64_t allocations = tenon_fake_calls("cudaMalloc"),
                waits = tenon_fake_calls("cudaStreamWaitEvent");
  LiveBlock second{allocate(4096, two.get()), 2, two.get()};
  EXPECT_NE(second.block.handle, first.block.handle);
  EXPECT_EQ(tenon_fake_calls("cudaMalloc"), allocations + 1);
  EXPECT_EQ(tenon_fake_calls("cudaStreamWaitEvent"), waits)
      << "it would wait for all work of the other";
  write(second);
  core::synchronize(cuda_id());
  check_bytes(second);
  release(second.block, two.get());
}

TEST_F(CudaAllocator, AnotherStreamGetsTheBlockOfADoneOne) {
  OnStream one, two;
  LiveBlock first{allocate(4096, one.get()), 1, one.get()};
  write(first);
  release(first.block, one.get());
  core::synchronize(cuda_id());
  const int64_t allocations = tenon_fake_calls("cudaMalloc");
  LiveBlock second{allocate(4096, two.get()), 2, two.get()};
  EXPECT_EQ(second.block.handle, first.block.handle);
  EXPECT_EQ(tenon_fake_calls("cudaMalloc"), allocations);
  write(second);
  core::synchronize(cuda_id());
  check_bytes(second);
  release(second.block, two.get());
}

TEST_F(CudaAllocator, ABlockUsedOnAnotherStreamWaitsForIt) {
  OnStream one, two;
  LiveBlock shared{allocate(4096, one.get()), 7, two.get()};
  core::cache_record_stream(cuda_id(), shared.block, two.get());
  write(shared);
  release(shared.block, one.get());
  LiveBlock next{allocate(4096, one.get()), 9, one.get()};
  EXPECT_TRUE(next.block.offset != shared.block.offset || next.block.handle != shared.block.handle)
      << "the other stream is not done";
  write(next);
  core::synchronize(cuda_id());
  check_bytes(next);
  release(next.block, one.get());
}

// 3,000 requests from three streams: no two live blocks share a byte, and in the end all are
// released.
TEST_F(CudaAllocator, ATraceOfThreeStreamsKeepsEveryByte) {
  OnStream a, b, c;
  tn_stream* streams[] = {a.get(), b.get(), c.get()};
  std::mt19937 random(6);
  std::deque<LiveBlock> alive;
  for (int step = 0; step < 3000; ++step) {
    if (alive.size() < 40 && random() % 5 != 0) {
      const uint64_t bytes = random() % 4 == 0 ? 1 + random() % (3 << 20) : 1 + random() % 20000;
      tn_stream* s = streams[random() % 3];
      alive.push_back({allocate(bytes, s), static_cast<unsigned char>(random()), s});
      alive.back().block.bytes = bytes;
      write(alive.back());
    } else if (!alive.empty()) {
      std::swap(alive.front(), alive[random() % alive.size()]);
      if (random() % 4 == 0) check_bytes(alive.front());
      release(alive.front().block, alive.front().stream);
      alive.pop_front();
    }
  }
  for (const LiveBlock& h : alive) {
    check_bytes(h);
    release(h.block, h.stream);
  }
  EXPECT_EQ(core::memory_stats(cuda_id()).allocated, 0u);
}

TEST_F(CudaAllocator, OutOfMemoryTriesOnceMoreAndHasNumbers) {
  core::cache_trim(cuda_id());
  tenon_fake_capacity(uint64_t{64} << 20);
  const core::Block kept = allocate(24 << 20), cached = allocate(30 << 20);
  release(cached);
  const int64_t frees = tenon_fake_calls("cudaFree");
  const core::Block other = allocate(36 << 20);  // fits when the cached one has gone back
  EXPECT_EQ(tenon_fake_calls("cudaFree"), frees + 1);
  release(other);
  const int64_t tries = tenon_fake_calls("cudaMalloc");
  const std::string text = text_of<OutOfMemoryError>([] { allocate(uint64_t{50} << 20); });
  EXPECT_LE(tenon_fake_calls("cudaMalloc") - tries, 4);
  expect_words(text, {"out of memory on cuda:0", "wanted 52428800 bytes", "allocated 25165",
                      "free 41943040"});
  release(kept);
  EXPECT_EQ(text_of([] { release(allocate(1 << 20)); }), "");
}

TEST_F(CudaAllocator, StatisticsCountAndAnEmptiedCacheIsGone) {
  const core::MemoryStats before = core::memory_stats(cuda_id());
  const core::Block b = allocate(3 << 20);
  const core::MemoryStats with = core::memory_stats(cuda_id());
  EXPECT_EQ(with.allocated - before.allocated, uint64_t{3} << 20);
  EXPECT_EQ(with.reserved, tenon_fake_bytes());
  release(b);
  core::cache_trim(cuda_id());
  EXPECT_EQ(core::memory_stats(cuda_id()).reserved, tenon_fake_bytes());
  EXPECT_LT(tenon_fake_bytes(), with.reserved);
}

}  // namespace
}  // namespace tenon::test
