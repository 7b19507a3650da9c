// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/device.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/device/device.h"
#include "core/registry/attach_device.h"
#include "core/stream/device_state.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/core/storage.h"
#include "tenon/core/stream.h"
#include "tenon/core/tensor_impl.h"
#include "tests/core/fake_device.h"
#include "tests/support.h"

using namespace tenon;
using core::Ref;
using core::Storage;
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
  tn_error_word* word = core::stream_error_word(fake.slot, 0, nullptr);
  ASSERT_NE(word, nullptr);
  core::synchronize(fake.slot, 0);
  *word = {TN_ERROR_INDEX, -1, 12, 10};
  std::string text = text_of<IndexError>([&] { core::synchronize(fake.slot, 0); });
  EXPECT_TRUE(has(text, "index 12 is out of bounds for a size of 10")) << text;
  core::synchronize(fake.slot, 0);  // reported once
  *word = {TN_ERROR_VALUE, -1, 70, 64};
  text = text_of<ValueError>([&] { core::synchronize(fake.slot, 0); });
  EXPECT_TRUE(has(text, "a kernel: 70 is not in [0, 64) (reported by fake:0)")) << text;
  *word = {TN_ERROR, -1, 5, -1};
  text = text_of<Error>([&] { core::synchronize(fake.slot, 0); });
  EXPECT_TRUE(has(text, "a kernel: ZeroDivisionError: division by zero of the integer 5")) << text;
  for (int code : {TN_ERROR, TN_ERROR_VALUE, TN_ERROR_BACKEND}) {
    *word = {code, -1, 0, 0};
    text = text_of<Error>([&] { core::synchronize(fake.slot, 0); });
    EXPECT_TRUE(has(text, "a kernel: failed on fake:0")) << text;
  }
  text = text_of<OutOfMemoryError>(
      [&] { core::device_failed(fake.slot, 1, "copy", TN_ERROR_MEMORY); });
  EXPECT_EQ(text, "fake:1: copy failed: fake words");
}

TEST(Device, EachStreamHasItsErrorWord) {
  FakeDevice fake("fake");
  tn_stream *a = FakeDevice::stream('A'), *b = FakeDevice::stream('B');
  core::set_current_stream(fake.slot, 0, a);
  tn_error_word *of_a = core::stream_error_word(fake.slot, 0, a),
                *of_b = core::stream_error_word(fake.slot, 0, b);
  tn_error_word* plain = core::stream_error_word(fake.slot, 0, nullptr);
  EXPECT_EQ(core::stream_error_word(fake.slot, 0, a), of_a);
  EXPECT_NE(of_a, of_b);
  EXPECT_EQ(core::device_error_word(fake.slot, 0), of_a) << "the current stream's";
  EXPECT_NE(of_a, plain);
  EXPECT_NE(core::stream_error_word(fake.slot, 1, a), of_a);
  *of_a = {TN_ERROR_INDEX, -1, 12, 10};
  core::synchronize_stream(fake.slot, 0, b);
  EXPECT_EQ(fake.calls.back(), "sync B");
  EXPECT_TRUE(
      has(text_of<IndexError>([&] { core::synchronize_stream(fake.slot, 0, a); }), "index 12"));
  core::synchronize_stream(fake.slot, 0, a);
  *of_a = {TN_ERROR_INDEX, -1, 13, 10};
  *of_b = {TN_ERROR_INDEX, -1, 14, 10};
  EXPECT_TRUE(has(text_of<IndexError>([&] { core::synchronize(fake.slot, 0); }), "index 13"));
  EXPECT_TRUE(has(text_of<IndexError>([&] { core::synchronize(fake.slot, 0); }), "index 14"));
  core::synchronize(fake.slot, 0);
  core::set_current_stream(fake.slot, 0, nullptr);
}

TEST(Device, TheDefaultStreamIsAwaitedAlone) {
  FakeDevice fake("fake");
  fake.api.stream_sync = [](void* c, int32_t, tn_stream* s) {
    static_cast<FakeDevice*>(c)->calls.push_back(s == nullptr ? "wait for the default stream"
                                                              : "wait for a stream");
    return tn_status{TN_OK};
  };
  tn_stream* other = FakeDevice::stream('A');
  core::stream_error_word(fake.slot, 0, other)->code = TN_ERROR_INDEX;
  core::synchronize_stream(fake.slot, 0, nullptr);
  EXPECT_EQ(fake.calls.back(), "wait for the default stream");
  EXPECT_THROW(core::synchronize(fake.slot, 0), IndexError)
      << "what another stream reported is not lost";
  EXPECT_EQ(fake.calls.back(), "sync");
}

TEST(Device, ACopyCountsAsOneWrite) {
  FakeDevice fake("fake");
  const int64_t n = 8;
  core::Impl there = core::new_tensor("test", kFloat, fake.slot, 0, 1, &n);
  core::Impl here = core::new_tensor("test", kFloat, 0, 0, 1, &n);
  const uint64_t before = there->storage->head.writes;
  core::copy(*there, *here);
  EXPECT_EQ(there->storage->head.writes, before + 1);
  EXPECT_EQ(there->storage->version.load(), 1u);
}

TEST(Device, ADownloadIntoPinnedMemoryWaitsWhereItIsAskedTo) {
  FakeDevice fake("fake");
  fake.api.alloc_pinned = [](void*, uint64_t bytes, void** host) {
    *host = std::malloc(bytes);
    return tn_status{TN_OK};
  };
  fake.api.free_pinned = [](void*, void* host, uint64_t) { std::free(host); };
  const int64_t n = 8;
  core::Impl there = core::new_tensor("test", kFloat, fake.slot, 0, 1, &n);
  core::Impl pinned = core::TensorImpl::make(kFloat, core::make_pinned(32), 0, 1, &n);
  core::Impl pageable = core::new_tensor("test", kFloat, 0, 0, 1, &n);
  core::copy(*pinned, *there, true);
  EXPECT_EQ(fake.calls, std::vector<std::string>{});
  core::copy(*pinned, *there, false);
  EXPECT_EQ(fake.calls, std::vector<std::string>{"sync"});
  core::copy(*pageable, *there, true);
  EXPECT_EQ(fake.calls.size(), 2u) << "the host could read what has not come";
}

TEST(Device, ErrorWordsGoBackWithTheDevice) {
  static int alive = 0;
  FakeDevice fake("fake");
  fake.api.alloc_pinned = [](void*, uint64_t bytes, void** host) {
    ++alive;
    *host = std::malloc(bytes);
    return tn_status{TN_OK};
  };
  fake.api.free_pinned = [](void*, void* host, uint64_t) {
    --alive;
    std::free(host);
  };
  tn_stream* a = FakeDevice::stream('A');
  core::set_current_stream(fake.slot, 0, a);
  EXPECT_NE(core::stream_error_word(fake.slot, 0, nullptr),
            core::stream_error_word(fake.slot, 0, a));
  EXPECT_EQ(alive, 2);
  core::release_device(fake.slot);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(core::stream_error_word(fake.slot, 0, a), nullptr);
  core::attach_device(fake.slot, &fake.api);
  *core::stream_error_word(fake.slot, 0, a) = {TN_ERROR_INDEX, -1, 12, 10};
  EXPECT_THROW(core::synchronize_stream(fake.slot, 0, a), IndexError);
  core::set_current_stream(fake.slot, 0, nullptr);
}

TEST(Device, CopiesToTheHostRaiseWhatTheStreamReported) {
  FakeDevice fake("fake");
  const int64_t one = 1;
  core::Impl t = core::new_tensor("test", kFloat32, fake.slot, 0, 1, &one);
  *core::stream_error_word(fake.slot, 0, nullptr) = {TN_ERROR_INDEX, -1, 12, 10};
  EXPECT_THROW(core::item(*t), IndexError);
  core::item(*t);
}

TEST(Device, DetachingIsRefusedWhileItsMemoryIsAlive) {
  FakeDevice fake("fake");
  fake.api.alloc_pinned = [](void*, uint64_t bytes, void** host) {
    *host = std::malloc(bytes);
    return tn_status{TN_OK};
  };
  fake.api.free_pinned = [](void*, void* host, uint64_t) { std::free(host); };
  Ref<Storage> block = Storage::make(fake.slot, 1, 100), pinned = core::make_pinned(100);
  EXPECT_TRUE(has(text_of<ValueError>([&] { core::release_device(fake.slot); }),
                  "fake:1 is in use: 1 storages of tensors hold 512 bytes"));
  block.reset();
  EXPECT_TRUE(has(text_of<ValueError>([&] { core::release_device(fake.slot); }),
                  "it pinned the memory of 1 tensors"));
  block = Storage::make(fake.slot, 1, 100);  // nothing has changed
  block.reset();
  pinned.reset();
  core::release_device(fake.slot);
  EXPECT_EQ(fake.in_use, 0u);
  EXPECT_THROW(Storage::make(fake.slot, 1, 100), BackendError);
}

TEST(Layout, NamesGetSlots) {
  EXPECT_EQ(core::layout_slot_from_name("strided"), 0);
  EXPECT_EQ(core::layout_slot_from_name("test_blocked"), -1);
  tn_ext_layout ext{};
  ext.name = {"test_blocked", 12};
  ext.components = {"blocks,values", 13};
  tn_ext_layout other = ext;
  int slot = core::register_layout(&ext);
  EXPECT_EQ(core::register_layout(&ext), slot);
  EXPECT_EQ(core::layout_components(slot), (std::vector<std::string>{"blocks", "values"}));
  EXPECT_EQ(core::layout_ext(slot), &ext);
  EXPECT_EQ(core::layout_slot_from_abi(core::abi_layout(slot)), slot);
  EXPECT_THROW(core::register_layout(&other), ValueError);
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
