// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream/attach_device.h"

#include <gtest/gtest.h>

#include "runtime/device/device.h"
#include "tenon/runtime/pinned.h"
#include "tests/runtime/fake_device.h"
#include "tests/support.h"

using namespace tenon;
using core::Ref;
using core::Storage;
using test::FakeDevice;
using test::has;
using test::text_of;

TEST(AttachDevice, AnIncompleteTableIsRefused) {
  tn_device_api api{};
  api.struct_size = sizeof api;
  core::DeviceSlot slot = core::reserve_device("broken");
  EXPECT_TRUE(has(text_of<BackendError>([&] { core::attach_device(slot, &api); }), "'broken'"));
  EXPECT_FALSE(core::ensure_device(slot));
}

TEST(AttachDevice, DetachingIsRefusedWhileItsMemoryIsAlive) {
  FakeDevice fake("fake");
  fake.give_pinned_memory();
  Ref<Storage> block = Storage::make(fake.id(1), 100), pinned = core::make_pinned(100);
  EXPECT_TRUE(has(text_of<ValueError>([&] { core::release_device(fake.slot); }),
                  "fake:1 is in use: 1 storages of tensors hold 512 bytes"));
  block.reset();
  EXPECT_TRUE(has(text_of<ValueError>([&] { core::release_device(fake.slot); }),
                  "it pinned the memory of 1 tensors"));
  block = Storage::make(fake.id(1), 100);  // nothing has changed
  block.reset();
  pinned.reset();
  core::release_device(fake.slot);
  EXPECT_EQ(fake.in_use, 0u);
  EXPECT_THROW(Storage::make(fake.id(1), 100), BackendError);
}
