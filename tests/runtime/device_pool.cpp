// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/device_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tenon/runtime/allocator.h"
#include "tenon/runtime/error.h"
#include "tests/runtime/fake_device.h"
#include "tests/runtime/random_trace.h"

using namespace tenon;
using core::Block;
using core::cache_alloc;
using core::cache_free;
using core::memory_stats;
using test::address;
using test::FakeDevice;
using test::kMiB;
using test::random_trace;
using Calls = std::vector<std::string>;

TEST(DevicePool, SplitsAndMerges) {
  FakeDevice fake("fake", 0);
  Block a = cache_alloc(fake.id(), 1000, nullptr), b = cache_alloc(fake.id(), 1000, nullptr);
  EXPECT_EQ(fake.allocations, 1);
  EXPECT_EQ(a.handle, b.handle);
  EXPECT_EQ(b.offset, a.offset + 1024);
  Block c = cache_alloc(fake.id(), 1000, nullptr);
  cache_free(fake.id(), a, nullptr);
  cache_free(fake.id(), c, nullptr);
  cache_free(fake.id(), b, nullptr);
  Block whole = cache_alloc(fake.id(), kMiB, nullptr);
  EXPECT_EQ(whole.offset, 0u) << "the three have merged";
  EXPECT_EQ(fake.allocations, 1);
  cache_free(fake.id(), whole, nullptr);
  core::cache_trim(fake.id());
  EXPECT_EQ(fake.in_use, 0u);
}

TEST(DevicePool, WithoutACacheABlockIsAnAllocationOfItsSize) {
  setenv("TENON_DEVICE_CACHE_MB", "0", 1);
  FakeDevice fake("exact", 0);
  Block a = cache_alloc(fake.id(), 1001, nullptr), b = cache_alloc(fake.id(), 3, nullptr);
  unsetenv("TENON_DEVICE_CACHE_MB");
  EXPECT_NE(a.handle, b.handle);
  EXPECT_EQ(fake.in_use, 1004u + 4u) << "whole words";
  cache_free(fake.id(), a, nullptr);
  EXPECT_EQ(fake.in_use, 4u);
  Block c = cache_alloc(fake.id(), 5 * kMiB + 1, nullptr);
  EXPECT_EQ(fake.in_use, 5 * kMiB + 8);
  cache_free(fake.id(), b, nullptr);
  cache_free(fake.id(), c, nullptr);
  EXPECT_EQ(fake.in_use, 0u);
  EXPECT_EQ(fake.allocations, 3);
}

TEST(DevicePool, SmallRequestsDoNotPinLargeSegments) {
  FakeDevice fake("fake", 0);
  Block large = cache_alloc(fake.id(), 5 * kMiB, nullptr),
        small = cache_alloc(fake.id(), 100, nullptr);
  EXPECT_NE(large.handle, small.handle);
  cache_free(fake.id(), large, nullptr);
  core::cache_trim(fake.id());
  EXPECT_EQ(fake.in_use, 2 * kMiB);
  cache_free(fake.id(), small, nullptr);
}

TEST(DevicePool, ATraceEndsWithWholeSegments) {
  FakeDevice fake("fake", 0);
  random_trace(fake.id(), 12 * kMiB, 4000);
  core::cache_trim(fake.id());
  EXPECT_EQ(fake.in_use, 0u);
  EXPECT_EQ(fake.allocations, fake.frees);
  EXPECT_EQ(memory_stats(fake.id()).reserved, 0u);
}

TEST(DevicePool, OutOfMemoryComesAfterOneRetryWithAnEmptyCache) {
  FakeDevice fake("fake", 0);
  fake.capacity = 64 * kMiB;
  Block a = cache_alloc(fake.id(), 40 * kMiB, nullptr);
  cache_free(fake.id(), a, nullptr);
  // Needs the 40 MiB that lie in the cache.
  Block b = cache_alloc(fake.id(), 50 * kMiB, nullptr);
  EXPECT_EQ(fake.frees, 1);
  try {
    cache_alloc(fake.id(), 30 * kMiB, nullptr);
    FAIL();
  } catch (const OutOfMemoryError& e) {
    EXPECT_EQ(e.msg(), core::join("out of memory on fake:0: wanted ", 30 * kMiB,
                                  " bytes, allocated ", 50 * kMiB, ", cached 0, free ", 14 * kMiB));
  }
  EXPECT_THROW(cache_alloc(fake.id(), UINT64_MAX, nullptr), OutOfMemoryError);
  cache_free(fake.id(), b, nullptr);
}

TEST(DevicePool, AStreamReusesItsOwnBlocksAtOnce) {
  FakeDevice fake("fake");
  tn_stream* s = FakeDevice::stream('A');
  Block a = cache_alloc(fake.id(), 2000, s);
  cache_free(fake.id(), a, s);
  Block b = cache_alloc(fake.id(), 2000, s);
  EXPECT_EQ(address(b), address(a));
  EXPECT_EQ(fake.calls, Calls{});
  cache_free(fake.id(), b, s);
}

TEST(DevicePool, AnotherStreamWaitsForAnEventFirst) {
  FakeDevice fake("fake");
  tn_stream *s = FakeDevice::stream('A'), *t = FakeDevice::stream('B');
  Block a = cache_alloc(fake.id(), 2000, s);
  cache_free(fake.id(), a, s);
  fake.capacity = fake.in_use;  // the device has no other memory
  Block b = cache_alloc(fake.id(), 2000, t);
  EXPECT_EQ(address(b), address(a));
  EXPECT_EQ(fake.calls, (Calls{"record A", "record A", "wait B"}))
      << "asked whether A is done, then ordered behind it";
  EXPECT_EQ(fake.events_alive, 0);
  cache_free(fake.id(), b, t);
}

TEST(DevicePool, ABusyStreamIsLeftAloneWhileTheDeviceHasMemory) {
  FakeDevice fake("fake");
  tn_stream *s = FakeDevice::stream('A'), *t = FakeDevice::stream('B');
  Block a = cache_alloc(fake.id(), 2000, s);
  cache_free(fake.id(), a, s);
  Block b = cache_alloc(fake.id(), 4, t);
  EXPECT_NE(address(b), address(a)) << "B would wait for all work of A";
  EXPECT_EQ(fake.calls, Calls{"record A"});
  EXPECT_EQ(fake.events_alive, 0);
  cache_free(fake.id(), b, t);
}

TEST(DevicePool, BlocksOfADoneStreamServeAnotherWithoutWaiting) {
  FakeDevice fake("fake");
  fake.events_pass = true;
  tn_stream *s = FakeDevice::stream('A'), *t = FakeDevice::stream('B');
  Block a = cache_alloc(fake.id(), 2000, s);
  cache_free(fake.id(), a, s);
  Block b = cache_alloc(fake.id(), 2000, t);
  EXPECT_EQ(address(b), address(a));
  EXPECT_EQ(fake.calls, Calls{"record A"});
  EXPECT_EQ(fake.events_alive, 0);
  cache_free(fake.id(), b, t);
}

TEST(DevicePool, WithoutEventsTheStreamIsSynchronized) {
  FakeDevice fake("fake", TN_DEVICE_ASYNC, false);
  Block a = cache_alloc(fake.id(), 2000, FakeDevice::stream('A'));
  cache_free(fake.id(), a, FakeDevice::stream('A'));
  fake.capacity = fake.in_use;
  Block b = cache_alloc(fake.id(), 2000, FakeDevice::stream('B'));
  EXPECT_EQ(fake.calls, Calls{"sync A"});
  cache_free(fake.id(), b, FakeDevice::stream('B'));
}

TEST(DevicePool, ABlockUsedOnAnotherStreamWaitsForIt) {
  FakeDevice fake("fake");
  tn_stream *s = FakeDevice::stream('A'), *t = FakeDevice::stream('B');
  Block a = cache_alloc(fake.id(), 2000, s);
  core::cache_record_stream(fake.id(), a, t);
  core::cache_record_stream(fake.id(), a, t);
  cache_free(fake.id(), a, s);
  EXPECT_EQ(fake.calls, Calls{"record B"});
  Block b = cache_alloc(fake.id(), 2000, s);
  EXPECT_NE(address(b), address(a)) << "stream B has not passed";
  fake.events_pass = true;
  cache_free(fake.id(), cache_alloc(fake.id(), 100, s), s);  // looks at the pending ones
  EXPECT_EQ(fake.events_alive, 0);
  cache_free(fake.id(), b, s);
  core::cache_trim(fake.id());
  EXPECT_EQ(fake.in_use, 0u);
}

TEST(DevicePool, MoreStreamsThanFitAreSynchronized) {
  FakeDevice fake("fake");
  Block a = cache_alloc(fake.id(), 2000, nullptr);
  for (char c = 'A'; c < 'H'; ++c) core::cache_record_stream(fake.id(), a, FakeDevice::stream(c));
  cache_free(fake.id(), a, nullptr);
  EXPECT_EQ(fake.calls.at(0), "sync");
  EXPECT_EQ(fake.events_alive, 0);
}

TEST(DevicePool, TrimMergesAcrossStreams) {
  FakeDevice fake("fake");
  Block a = cache_alloc(fake.id(), 2000, FakeDevice::stream('A'));
  cache_free(fake.id(), a, FakeDevice::stream('A'));
  Block b = cache_alloc(fake.id(), 1000, FakeDevice::stream('B'));
  cache_free(fake.id(), b, FakeDevice::stream('B'));
  core::cache_trim(fake.id());
  EXPECT_EQ(fake.in_use, 0u);
}
