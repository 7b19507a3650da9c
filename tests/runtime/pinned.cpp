// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/pinned.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/memory/pinned_pool.h"
#include "tenon/runtime/allocator.h"
#include "tests/runtime/fake_device.h"
#include "tests/support.h"

namespace tenon::test {
namespace {

using core::Ref;
using core::Storage;

struct PinnedMemory : testing::Test {
  FakeDevice fake{"fake"};
  PinnedMemory() { fake.give_pinned_memory(); }
};

TEST(Pinned, IsPlainWhereNoDeviceCanPin) {
  const Ref<Storage> s = core::make_pinned(100);
  EXPECT_FALSE(s->pinned);
  EXPECT_NE(s->data, nullptr);
}

TEST_F(PinnedMemory, ComesFromTheDeviceThatCanPin) {
  const Ref<Storage> s = core::make_pinned(100);
  EXPECT_TRUE(s->pinned);
  EXPECT_TRUE(s->device.is_host());
  EXPECT_EQ(s->bytes, 100u);
  EXPECT_EQ(fake.pinned_alive, 1);
  EXPECT_EQ(core::pinned_blocks(fake.slot), 1);
}

TEST_F(PinnedMemory, IsKeptForRequestsOfItsSize) {
  const void* const first = core::make_pinned(1000)->data;
  EXPECT_EQ(core::pinned_blocks(fake.slot), 0);
  const Ref<Storage> again = core::make_pinned(900), other = core::make_pinned(5000);
  EXPECT_EQ(again->data, first);
  EXPECT_EQ(fake.pinned_alive, 2);
  core::cache_trim(fake.id());
  EXPECT_EQ(fake.pinned_alive, 2) << "both are in use";
}

TEST_F(PinnedMemory, TrimmingGivesItBack) {
  core::make_pinned(100).reset();
  core::make_pinned(uint64_t{1} << 22).reset();
  EXPECT_EQ(fake.pinned_alive, 2);
  core::cache_trim(fake.id());
  EXPECT_EQ(fake.pinned_alive, 0);
}

TEST_F(PinnedMemory, IsNotReusedBeforeItsStreamsPassed) {
  Ref<Storage> s = core::make_pinned(100);
  core::record_pinned_use(*s, fake.id(), fake.stream('A'));
  core::record_pinned_use(*s, fake.id(), fake.stream('B'));
  core::record_pinned_use(*s, fake.id(), fake.stream('A'));
  EXPECT_EQ(fake.events_alive, 2) << "a stream's last use is enough";
  const void* const first = s->data;
  s.reset();
  EXPECT_NE(core::make_pinned(100)->data, first);
  fake.events_pass = true;
  const Ref<Storage> a = core::make_pinned(100), b = core::make_pinned(100);
  EXPECT_TRUE(a->data == first || b->data == first);
  EXPECT_EQ(fake.events_alive, 0);
  EXPECT_EQ(fake.pinned_alive, 2);
}

TEST_F(PinnedMemory, ABlockThatIsTakenAgainHasNoUses) {
  fake.events_pass = true;
  const void* first = nullptr;
  for (int i = 0; i < 3; ++i) {
    const Ref<Storage> s = core::make_pinned(100);
    if (i == 0) first = s->data;
    EXPECT_EQ(s->data, first);
    EXPECT_EQ(fake.events_alive, 0);
    core::record_pinned_use(*s, fake.id(), fake.stream('A'));
    EXPECT_EQ(fake.events_alive, 1);
  }
}

TEST_F(PinnedMemory, AStreamOfAnotherPluginsDeviceIsWaitedFor) {
  FakeDevice other("other_fake");
  const Ref<Storage> s = core::make_pinned(100);
  core::record_pinned_use(*s, other.id(), other.stream('A'));
  EXPECT_EQ(other.calls, std::vector<std::string>{"sync A"});
  EXPECT_EQ(other.events_alive + fake.events_alive, 0);
}

TEST_F(PinnedMemory, GoesBackAtOnceWhereTooManyStreamsUseIt) {
  Ref<Storage> s = core::make_pinned(100);
  for (char letter = 'A'; letter <= 'F'; ++letter)
    core::record_pinned_use(*s, fake.id(), fake.stream(letter));
  EXPECT_EQ(fake.events_alive, 4);
  s.reset();
  EXPECT_EQ(fake.events_alive, 0);
  EXPECT_EQ(fake.pinned_alive, 0);
}

TEST_F(PinnedMemory, OutOfMemoryIsAnErrorAfterTheKeptBlocksWereGivenBack) {
  core::make_pinned(100).reset();
  fake.api.alloc_pinned = [](void*, uint64_t, void**) { return tn_status{TN_ERROR_MEMORY}; };
  expect_words(text_of<OutOfMemoryError>([] { core::make_pinned(5000); }),
               {"wanted 5000 bytes of pinned memory"});
  EXPECT_EQ(fake.pinned_alive, 0);
  EXPECT_THROW(core::make_pinned(UINT64_MAX), OutOfMemoryError);
}

TEST(Pinned, GoesBackAtOnceWhereNothingTellsThatAUseEnded) {
  FakeDevice fake("fake", TN_DEVICE_ASYNC, /*with_events=*/false);
  fake.give_pinned_memory();
  Ref<Storage> s = core::make_pinned(100);
  core::record_pinned_use(*s, fake.id(), fake.stream('A'));
  s.reset();
  EXPECT_EQ(fake.pinned_alive, 0);
}

}  // namespace
}  // namespace tenon::test
