// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <unordered_set>

#include "tenon/runtime/error.h"
#include "tests/runtime/fake_device.h"
#include "tests/support.h"

using namespace tenon;
using core::Ref;
using core::Storage;

TEST(Storage, HostMemoryIsAlignedAndWritable) {
  for (uint64_t bytes : {1, 63, 64, 65, 1000, 1 << 20, (1 << 20) + 1, 30 << 20}) {
    Ref<Storage> s = Storage::make(core::kHost, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(s->data) % 64, 0u) << bytes;
    EXPECT_EQ(s->bytes, bytes);
    EXPECT_EQ(s->head.bytes, bytes);
    std::memset(s->data, 1, bytes);
  }
}

TEST(Storage, NoBytesNeedNoMemory) {
  Ref<Storage> s = Storage::make(core::kHost, 0);
  EXPECT_EQ(s->data, nullptr);
}

TEST(Storage, IdsAreNeverUsedAgain) {
  std::unordered_set<uint64_t> seen;
  auto some = [&] {
    for (int i = 0; i < 1000; ++i)
      EXPECT_TRUE(seen.insert(Storage::make(core::kHost, 8)->head.id).second);
  };
  some();
  std::thread(some).join();
  some();
}

TEST(Storage, AWrappedBlockIsGivenBackOnceByTheLastReference) {
  int runs = 0;
  char data[16];
  auto deleter = [](void* context, void*) { ++*static_cast<int*>(context); };
  Ref<Storage> s = Storage::wrap(core::kHost, data, sizeof data, deleter, &runs);
  EXPECT_EQ(s->data, data);
  Ref<Storage> other = s;
  s.reset();
  EXPECT_EQ(runs, 0);
  other.reset();
  EXPECT_EQ(runs, 1);
  Storage::wrap(core::kHost, data, sizeof data, nullptr, nullptr);  // nothing to call
}

TEST(Storage, RunningOutOfMemorySaysHowMuchWasWanted) {
  test::expect_words(
      test::text_of<OutOfMemoryError>([&] { Storage::make(core::kHost, uint64_t{1} << 50); }),
      {"out of memory on cpu: wanted 1125899906842624 bytes"});
  EXPECT_THROW(Storage::make(core::kHost, UINT64_MAX), OutOfMemoryError);
}

TEST(Storage, OnAnOpaqueDeviceDataIsTheHandle) {
  test::FakeDevice fake("fake_opaque", TN_DEVICE_OPAQUE);
  Ref<Storage> a = Storage::make(fake.id(), 100);
  Ref<Storage> b = Storage::make(fake.id(), 100);
  EXPECT_EQ(a->data, b->data) << "two blocks of one handle";
  EXPECT_NE(a->base, b->base);
}
