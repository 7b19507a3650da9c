// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Correct kernels, and kernels with intentional faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tenon_cuda_emulated.h"

namespace {

using namespace tenon::emulator;
using tenon::cuda::dynamic_shared;

constexpr uint32_t kAll = 0xffffffffu;

template <class F>
void launch(unsigned grid, unsigned block, F&& f, std::size_t shared = 0) {
  run(Launch{"tried", {grid}, {block}, shared}, f);
}

// The text of the fault.
template <class F>
std::string fault_of(FaultKind kind, unsigned block, F&& f, std::size_t shared = 0) {
  try {
    launch(1, block, f, shared);
  } catch (const Fault& e) {
    EXPECT_EQ(e.kind, kind) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no fault was found";
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class BothOrders : public testing::TestWithParam<Order> {
 protected:
  void SetUp() override { set_order(GetParam()); }
  void TearDown() override { set_order(Order::Forward); }
};
INSTANTIATE_TEST_SUITE_P(Order, BothOrders, testing::Values(Order::Forward, Order::Reverse));

TEST_P(BothOrders, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> seen(7 * 96);
  run(Launch{"k", {7}, {8, 4, 3}, 0}, [&] {
    ++seen[blockIdx.x * 96 + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
  });
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST_P(BothOrders, TreeSumInSharedMemory) {
  for (unsigned size : {32u, 64u, 128u, 256u, 512u, 1024u}) {
    std::vector<int> out(5);
    launch(5, size, [&] {
      TN_SHARED(int, part, 1024);
      part[threadIdx.x] = static_cast<int>(threadIdx.x + blockIdx.x);
      __syncthreads();
      for (unsigned half = size / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
      }
      if (threadIdx.x == 0) out[blockIdx.x] = part[0];
    });
    for (unsigned b = 0; b < 5; ++b)
      EXPECT_EQ(out[b], static_cast<int>(size * (size - 1) / 2 + size * b));
  }
}

TEST_P(BothOrders, ShufflesAndVotes) {
  std::vector<int> up(64), down(64), exchanged(64), from(64), narrow(64);
  std::vector<unsigned> votes(64);
  std::vector<int> any(64), all(64);
  launch(1, 64, [&] {
    const int i = static_cast<int>(threadIdx.x);
    up[i] = __shfl_up_sync(kAll, i, 3, 32);
    down[i] = __shfl_down_sync(kAll, i, 5, 32);
    exchanged[i] = __shfl_xor_sync(kAll, i, 16, 32);
    from[i] = __shfl_sync(kAll, i, 7, 32);
    narrow[i] = __shfl_down_sync(kAll, i, 2, 8);
    votes[i] = __ballot_sync(kAll, i % 3 == 0);
    any[i] = __any_sync(kAll, i == 40);
    all[i] = __all_sync(kAll, i >= 32);
  });
  for (int i = 0; i < 64; ++i) {
    const int lane = i % 32, warp = i / 32 * 32;
    EXPECT_EQ(up[i], lane < 3 ? i : i - 3);
    EXPECT_EQ(down[i], lane + 5 > 31 ? i : i + 5);
    EXPECT_EQ(exchanged[i], i ^ 16);
    EXPECT_EQ(from[i], warp + 7);
    EXPECT_EQ(narrow[i], i % 8 + 2 > 7 ? i : i + 2);
    for (int k = 0; k < 32; ++k)
      EXPECT_EQ(votes[i] >> k & 1, static_cast<unsigned>((warp + k) % 3 == 0));
    EXPECT_EQ(any[i] != 0, i >= 32);
    EXPECT_EQ(all[i] != 0, i >= 32);
  }
}

TEST_P(BothOrders, HalvesOfAWarpDiverge) {
  std::vector<double> out(32);
  launch(1, 32, [&] {
    const unsigned i = threadIdx.x;
    double v = i;
    if (i < 16) {
      for (int k = 8; k > 0; k /= 2) v += __shfl_xor_sync(0xffffu, v, k, 16);
    } else {
      v = __shfl_sync(0xffff0000u, v, 20, 32);
    }
    out[i] = v;
  });
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 ? 120 : 20);
}

TEST_P(BothOrders, AtomicsOnBothMemories) {
  int64_t sum = 0;
  float total = 0;
  unsigned max = 0, bits = 0;
  std::vector<int> counts(4);
  launch(3, 128, [&] {
    TN_SHARED(int, count, 4);
    if (threadIdx.x < 4) count[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&count[threadIdx.x % 4], 1);
    atomicAdd(&sum, int64_t{threadIdx.x});
    atomicAdd(&total, 0.5f);
    atomicMax(&max, threadIdx.x + blockIdx.x);
    atomicOr(&bits, 1u << (threadIdx.x % 5));
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&counts[threadIdx.x], count[threadIdx.x]);
  });
  EXPECT_EQ(sum, 3 * 128 * 127 / 2);
  EXPECT_EQ(total, 192);
  EXPECT_EQ(max, 129u);
  EXPECT_EQ(bits, 31u);
  EXPECT_EQ(counts, std::vector<int>(4, 96));
  int word = 4;
  EXPECT_EQ(atomicCAS(&word, 4, 9), 4);
  EXPECT_EQ(atomicCAS(&word, 4, 1), 9);
  EXPECT_EQ(atomicExch(&word, 2), 9);
  EXPECT_EQ(atomicMin(&word, 1), 2);
  EXPECT_EQ(word, 1);
}

TEST_P(BothOrders, DynamicSharedMemoryInTwoParts) {
  std::vector<double> out(64);
  launch(
      2, 32,
      [&] {
        auto a = dynamic_shared<double>();
        auto b = dynamic_shared<int>(32 * sizeof(double));
        a[threadIdx.x] = 1.5;
        b[31 - threadIdx.x] = static_cast<int>(threadIdx.x);
        __syncthreads();
        out[blockIdx.x * 32 + threadIdx.x] = a[31 - threadIdx.x] + b[threadIdx.x];
      },
      32 * (sizeof(double) + sizeof(int)));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], 1.5 + 31 - i % 32);
}

TEST_P(BothOrders, BarrierThatSomeThreadsNeverReach) {
  const std::string text = fault_of(FaultKind::Barrier, 64, [] {
    if (threadIdx.x < 40) __syncthreads();
  });
  EXPECT_TRUE(has(text, "kernel tried, block (0, 0, 0), thread (0, 0, 0)")) << text;
  EXPECT_TRUE(has(text, "__syncthreads of emulator_test.cpp:")) << text;
  EXPECT_TRUE(has(text, "thread (40, 0, 0) has finished")) << text;
}

TEST_P(BothOrders, BarriersAtDifferentPlaces) {
  const std::string text = fault_of(FaultKind::Barrier, 32, [] {
    if (threadIdx.x % 2) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  });
  EXPECT_TRUE(has(text, "but thread")) << text;
}

TEST_P(BothOrders, BarrierBesideAShuffle) {
  const std::string text = fault_of(FaultKind::Barrier, 64, [] {
    if (threadIdx.x < 32) {
      __syncthreads();
    } else {
      (void)__shfl_sync(kAll, threadIdx.x < 40 ? 1 : 2, 0, 32);
      if (threadIdx.x == 40) __syncwarp(kAll);
    }
  });
  EXPECT_TRUE(has(text, "thread (32, 0, 0) has finished")) << text;
}

TEST_P(BothOrders, UnwrittenSharedMemory) {
  const std::string text = fault_of(FaultKind::Unwritten, 64, [] {
    TN_SHARED(float, part, 64);
    if (threadIdx.x != 17) part[threadIdx.x] = 1;
    __syncthreads();
    volatile float v = part[(threadIdx.x + 1) % 64];
    (void)v;
  });
  EXPECT_TRUE(has(text, "thread (16, 0, 0): reads part[17], which nothing has written")) << text;
}

TEST(Emulator, SharedMemoryIsUnwrittenAgainInTheNextBlock) {
  EXPECT_THROW(launch(2, 32,
                      [] {
                        TN_SHARED(int, part, 32);
                        if (blockIdx.x == 0) part[threadIdx.x] = 1;
                        volatile int v = part[threadIdx.x];
                        (void)v;
                      }),
               Fault);
}

TEST_P(BothOrders, PastTheEndOfSharedMemory) {
  const std::string text = fault_of(FaultKind::Outside, 64, [] {
    TN_SHARED(int, part, 63);
    part[threadIdx.x] = 1;
  });
  EXPECT_TRUE(has(text, "thread (63, 0, 0): index 63 of part, which has 63 elements")) << text;
  fault_of(
      FaultKind::Outside, 32,
      [] {
        auto part = dynamic_shared<int>();
        part[static_cast<int>(threadIdx.x) - 1] = 1;
      },
      128);
}

TEST_P(BothOrders, MissingBarrierIsARace) {
  fault_of(FaultKind::Race, 64, [] {
    TN_SHARED(int, part, 64);
    part[threadIdx.x] = 0;
    __syncthreads();
    volatile int v = part[(threadIdx.x + 32) % 64];
    part[threadIdx.x] = v + static_cast<int>(threadIdx.x) + 1;  // others may not have read yet
  });
}

TEST_P(BothOrders, WarpBarrierOrdersItsWarpAlone) {
  const auto body = [](unsigned mask) {
    TN_SHARED(unsigned, part, 64);
    part[threadIdx.x] = threadIdx.x;
    __syncwarp(kAll);
    volatile unsigned v = part[threadIdx.x ^ mask];
    (void)v;
  };
  launch(1, 64, [&] { body(1); });
  EXPECT_THROW(launch(1, 64, [&] { body(32); }), Fault);
}

TEST_P(BothOrders, ShuffleFromALaneOutsideOfTheMask) {
  const std::string text = fault_of(FaultKind::Warp, 32, [] {
    if (threadIdx.x < 16) (void)__shfl_down_sync(0xffffu, 1, 4, 32);
  });
  EXPECT_TRUE(has(text, "thread (12, 0, 0): __shfl_down_sync from lane 16")) << text;
  fault_of(FaultKind::Warp, 32, [] { (void)__shfl_sync(0xfffeu, 1, 1, 32); });
  fault_of(FaultKind::Warp, 40, [] { (void)__ballot_sync(kAll, true); });
}

TEST_P(BothOrders, ShuffleThatALaneOfTheMaskNeverReaches) {
  const std::string text = fault_of(FaultKind::Warp, 64, [] {
    if (threadIdx.x != 50) (void)__shfl_xor_sync(kAll, 1, 1, 32);
  });
  EXPECT_TRUE(has(text, "waits at __shfl_xor_sync")) << text;
  EXPECT_TRUE(has(text, "thread (50, 0, 0) has finished")) << text;
}

TEST(Emulator, RunsAfterAFault) {
  EXPECT_THROW(launch(4, 128,
                      [] {
                        if (threadIdx.x) __syncthreads();
                      }),
               Fault);
  int n = 0;
  launch(4, 128, [&] {
    __syncthreads();
    ++n;
  });
  EXPECT_EQ(n, 512);
}

struct Scheduled {
  Scheduled(uint64_t seed, int threads) { set_schedule({seed, threads}); }
  ~Scheduled() { set_schedule({}); }
};

TEST(Blocks, RunOnceInAnyOrderOnAnyThreads) {
  for (uint64_t seed : {0, 1, 2}) {
    for (int threads : {1, 3}) {
      Scheduled s(seed, threads);
      std::vector<int> seen(5 * 3 * 4 * 64);
      run(Launch{"k", {5, 3, 4}, {64}, 0}, [&] {
        TN_SHARED(unsigned, first, 1);
        if (threadIdx.x == 0) first[0] = blockIdx.x;
        __syncthreads();
        const unsigned x = first[0];
        ++seen[((blockIdx.z * 3 + blockIdx.y) * 5 + x) * 64 + threadIdx.x];
      });
      EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << seed << ", " << threads;
    }
  }
}

// Seeds change which block runs last.
TEST(Blocks, ASeedShufflesThem) {
  std::vector<bool> last(16);
  for (uint64_t seed = 1; seed < 40; ++seed) {
    Scheduled s(seed, 1);
    unsigned at = 0, again = 0;
    launch(16, 32, [&] { at = blockIdx.x; });
    launch(16, 32, [&] { again = blockIdx.x; });
    EXPECT_EQ(at, again) << "a seed is one order";
    last[at] = true;
  }
  EXPECT_GE(std::count(last.begin(), last.end(), true), 8);
}

TEST(Blocks, AFaultOnAnyThreadEndsTheLaunch) {
  for (int threads : {1, 4}) {
    Scheduled s(7, threads);
    EXPECT_THROW(launch(200, 64,
                        [] {
                          if (blockIdx.x == 150 && threadIdx.x < 32) return;
                          __syncthreads();
                        }),
                 Fault);
    int64_t sum = 0;
    launch(200, 64, [&] { atomicAdd(&sum, 1); });
    EXPECT_EQ(sum, 200 * 64) << "the next launch is whole";
  }
}

#if defined(__SANITIZE_ADDRESS__)
TEST(GlobalMemoryDeathTest, AnAccessOutsideNamesKernelBlockAndThread) {
  const auto outside = [] {
    std::vector<int> v(10);
    int* const p = v.data();
    launch(2, 32, [p] { p[10 * (blockIdx.x == 1 && threadIdx.x == 3)] = 1; });
  };
  EXPECT_DEATH(outside(),
               "heap-buffer-overflow(.|\n)*emulated: kernel .*, block .1, 0, 0., thread .3, 0, 0.");
}
#endif

}  // namespace
