// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/device.h"

#include <gtest/gtest.h>

#include "runtime/device/device.h"
#include "runtime/stream/attach_device.h"
#include "tests/runtime/fake_device.h"
#include "tests/support.h"

using namespace tenon;
using test::FakeDevice;
using test::has;
using test::text_of;

TEST(Device, IsReadFromText) {
  EXPECT_EQ(Device("cpu"), Device(kCPU));
  EXPECT_FALSE(Device("cpu").has_index());
  EXPECT_EQ(Device("cuda:1"), Device(kCUDA, 1));
  EXPECT_EQ(Device("cuda:1").str(), "cuda:1");
  EXPECT_EQ(Device("cpu").str(), "cpu");
  EXPECT_EQ(Device("cpu:0").index(), 0);
}

TEST(Device, RefusesWrongOrdinals) {
  EXPECT_TRUE(has(text_of<ValueError>([] { Device("cpu:1"); }),
                  "device index must be -1 or 0 for cpu, got 1"));
  EXPECT_TRUE(has(text_of<ValueError>([] { Device(kCUDA, -2); }), "device index must be"));
  for (const char* text : {"cuda:", "cuda:-1", "cuda:1x", "cuda:01", "cuda:999", "cuda:1:2"}) {
    EXPECT_TRUE(has(text_of<ValueError>([&] { Device d(text); }), "device index must be")) << text;
  }
}

TEST(Device, AnUnknownTypeIsNamedWithTheLoadedOnes) {
  std::string text = text_of<ValueError>([] { Device("warp9"); });
  EXPECT_TRUE(has(text, "unknown device type 'warp9'; loaded: cpu")) << text;
  EXPECT_THROW(Device(""), ValueError);
}

TEST(Device, ATypeWithoutItsPluginIsRefusedAtUse) {
  Device d("mps");
  std::string text = text_of<BackendError>([&] { core::resolve(d); });
  EXPECT_TRUE(has(text, "unknown device type 'mps'; loaded: cpu")) << text;
}

TEST(Device, ForeignTypesGetNumbersOfTheirOwn) {
  FakeDevice fake("fake");
  const core::DeviceEntry& e = core::device_entry(fake.slot);
  EXPECT_GE(e.abi_type, TN_DEVICE_FOREIGN);
  EXPECT_EQ(e.count, 2);
  EXPECT_EQ(core::device_slot_from_name("fake"), fake.slot);
  EXPECT_EQ(core::reserve_device("fake"), fake.slot);
  Device d("fake:1");
  EXPECT_EQ(d.type(), e.type);
  EXPECT_EQ(core::abi_device(d).type, e.abi_type);
  EXPECT_EQ(core::device_from_abi(core::abi_device(d)), d);
  EXPECT_THROW(core::resolve(Device("fake:2")), ValueError);
  EXPECT_TRUE(has(text_of<ValueError>([] { Device("warp9"); }), "fake"));
  EXPECT_THROW(core::reserve_device("No Name"), ValueError);
  EXPECT_EQ(core::device_entry(core::reserve_device("cuda")).abi_type, TN_CUDA);
}

TEST(Device, TheHostHasIndexZeroAcrossTheAbiAndNoneInADevice) {
  EXPECT_EQ(core::abi_device(Device("cpu")).index, 0);
  EXPECT_EQ(core::device_from_abi({TN_CPU, 0}), Device(kCPU));
  EXPECT_EQ(core::resolve(Device("cpu")).index(), 0);
}

TEST(Device, AnIdIsTwoBytesAndConvertsBothWays) {
  static_assert(sizeof(core::DeviceId) == 2);
  static_assert(core::kHost.is_host() && !core::kHost.is_none() && core::kHost.index == 0);
  static_assert(core::DeviceId::none().is_none() && !core::DeviceId::none().is_host());
  static_assert(core::DeviceId(-1, 0).is_none());
  FakeDevice fake("fake");
  const core::DeviceId id = core::device_id(Device("fake:1"));
  EXPECT_EQ(id, fake.id(1));
  EXPECT_NE(id, fake.id(0));
  EXPECT_EQ(core::device_of(id), Device("fake:1"));
  EXPECT_EQ(core::abi_device(id).type, core::device_entry(id).abi_type);
  EXPECT_EQ(core::abi_device(id).index, 1);
  EXPECT_EQ(core::device_id(Device("cpu")), core::kHost);
  EXPECT_EQ(core::device_of(core::kHost), Device("cpu"));
  EXPECT_THROW(core::device_id(Device("fake:2")), ValueError);
}
