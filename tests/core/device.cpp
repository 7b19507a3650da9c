// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/device.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/core/fake_device.h"
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
  EXPECT_TRUE(has(text_of<ValueError>([] { Device("cpu:1"); }), "device index must be -1 or 0 for cpu, got 1"));
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

TEST(Device, CurrentDeviceAndStreamBelongToTheThread) {
  FakeDevice fake("fake");
  core::set_current_index(fake.slot, 1);
  core::set_current_stream(fake.slot, 1, FakeDevice::stream('A'));
  EXPECT_EQ(core::resolve(Device("fake")).index(), 1);
  EXPECT_EQ(core::current_stream(fake.slot, 1), FakeDevice::stream('A'));
  std::thread([&] {
    EXPECT_EQ(core::current_index(fake.slot), 0);
    EXPECT_EQ(core::current_stream(fake.slot, 1), nullptr);
  }).join();
  EXPECT_THROW(core::set_current_index(fake.slot, 2), ValueError);
  EXPECT_EQ(core::current_stream(0, 0), nullptr);
  core::set_current_index(fake.slot, 0);
  core::set_current_stream(fake.slot, 1, nullptr);
}

TEST(Device, TheHostHasIndexZeroAcrossTheAbiAndNoneInADevice) {
  EXPECT_EQ(core::abi_device(Device("cpu")).index, 0);
  EXPECT_EQ(core::device_from_abi({TN_CPU, 0}), Device(kCPU));
  EXPECT_EQ(core::resolve(Device("cpu")).index(), 0);
}

TEST(Device, AnIncompleteTableIsRefused) {
  tn_device_api api{};
  api.struct_size = sizeof api;
  int slot = core::reserve_device("broken");
  EXPECT_TRUE(has(text_of<BackendError>([&] { core::attach_device(slot, &api); }), "'broken'"));
  EXPECT_FALSE(core::ensure_device(slot));
}

TEST(Device, SynchronizeRaisesWhatAKernelReported) {
  FakeDevice fake("fake");
  tn_error_word* word = core::device_error_word(fake.slot, 0);
  ASSERT_NE(word, nullptr);
  core::synchronize(fake.slot, 0);
  *word = {TN_ERROR_INDEX, -1, 12, 10};
  std::string text = text_of<IndexError>([&] { core::synchronize(fake.slot, 0); });
  EXPECT_TRUE(has(text, "index 12 is out of bounds for a size of 10")) << text;
  core::synchronize(fake.slot, 0);  // reported once
  text = text_of<OutOfMemoryError>([&] { core::device_failed(fake.slot, 1, "copy", TN_ERROR_MEMORY); });
  EXPECT_EQ(text, "fake:1: copy failed: fake words");
}

TEST(Layout, NamesGetSlots) {
  EXPECT_EQ(core::layout_slot_from_name("strided"), 0);
  EXPECT_EQ(core::layout_slot_from_name("sparse_coo"), static_cast<int>(Layout::Sparse));
  EXPECT_EQ(core::layout_slot_from_name("test_blocked"), -1);
  int ext = 0, other = 0;
  int slot = core::register_layout("test_blocked", &ext);
  EXPECT_EQ(core::register_layout("test_blocked", &ext), slot);
  EXPECT_EQ(core::layout_ext(slot), &ext);
  EXPECT_EQ(core::layout_slot_from_abi(core::abi_layout(slot)), slot);
  EXPECT_THROW(core::register_layout("test_blocked", &other), ValueError);
  core::unregister_layout(slot);
  EXPECT_EQ(core::layout_ext(slot), nullptr);
  EXPECT_EQ(core::layout_name(slot), "test_blocked");
}

TEST(HostDevice, CopiesAndFills) {
  const tn_device_api& api = core::host_device_api();
  for (uint64_t bytes : {uint64_t{100}, uint64_t{5} << 20}) {
    void* p = nullptr;
    ASSERT_EQ(api.alloc(nullptr, 0, bytes, nullptr, &p), TN_OK);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    uint32_t pattern = 0x01020304;
    ASSERT_EQ(api.fill(nullptr, 0, p, 4, &pattern, 4, bytes / 4 - 1, nullptr), TN_OK);
    EXPECT_EQ(static_cast<unsigned char*>(p)[bytes / 4 * 4 - 1], 1);
    api.free(nullptr, 0, p, bytes, nullptr);
  }
  void* p = nullptr;
  EXPECT_EQ(api.alloc(nullptr, 0, uint64_t{1} << 50, nullptr, &p), TN_ERROR_MEMORY);
  EXPECT_EQ(api.alloc(nullptr, 0, UINT64_MAX, nullptr, &p), TN_ERROR_MEMORY);
}
