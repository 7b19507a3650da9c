// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream/device_state.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/device/device.h"
#include "runtime/stream/attach_device.h"
#include "tenon/runtime/storage.h"
#include "tenon/runtime/stream.h"
#include "tests/runtime/fake_device.h"
#include "tests/support.h"

using namespace tenon;
using test::FakeDevice;
using test::has;
using test::text_of;

TEST(DeviceState, CurrentDeviceAndStreamBelongToTheThread) {
  FakeDevice fake("fake");
  core::set_current_index(fake.id(1));
  core::set_current_stream(fake.id(1), FakeDevice::stream('A'));
  EXPECT_EQ(core::resolve(Device("fake")).index(), 1);
  EXPECT_EQ(core::current_stream(fake.id(1)), FakeDevice::stream('A'));
  std::thread([&] {
    EXPECT_EQ(core::current_index(fake.slot), 0);
    EXPECT_EQ(core::current_stream(fake.id(1)), nullptr);
  }).join();
  EXPECT_THROW(core::set_current_index(fake.id(2)), ValueError);
  EXPECT_EQ(core::current_stream(core::kHost), nullptr);
  core::set_current_index(fake.id());
  core::set_current_stream(fake.id(1), nullptr);
}

TEST(DeviceState, SynchronizeRaisesWhatAKernelReported) {
  FakeDevice fake("fake");
  tn_error_word* word = core::stream_error_word(fake.id(), nullptr);
  ASSERT_NE(word, nullptr);
  core::synchronize(fake.id());
  *word = {TN_ERROR_INDEX, -1, 12, 10};
  std::string text = text_of<IndexError>([&] { core::synchronize(fake.id()); });
  EXPECT_EQ(text,
            "a kernel: index 12 is out of bounds for a size of 10 (index out of range in a kernel) "
            "(reported by fake:0)");
  core::synchronize(fake.id());  // reported once
  *word = {TN_ERROR_VALUE, -1, 70, 64};
  text = text_of<ValueError>([&] { core::synchronize(fake.id()); });
  EXPECT_TRUE(has(text, "a kernel: 70 is not in [0, 64) (reported by fake:0)")) << text;
  *word = {TN_ERROR, -1, 5, -1};
  text = text_of<Error>([&] { core::synchronize(fake.id()); });
  EXPECT_TRUE(has(text, "a kernel: ZeroDivisionError: division by zero of the integer 5")) << text;
  for (int code : {TN_ERROR, TN_ERROR_VALUE, TN_ERROR_BACKEND}) {
    *word = {code, -1, 0, 0};
    text = text_of<Error>([&] { core::synchronize(fake.id()); });
    EXPECT_TRUE(has(text, "a kernel: failed on fake:0")) << text;
  }
  text =
      text_of<OutOfMemoryError>([&] { core::device_failed(fake.id(1), "copy", TN_ERROR_MEMORY); });
  EXPECT_EQ(text, "fake:1: copy failed: fake words");
}

TEST(DeviceState, EachStreamHasItsErrorWord) {
  FakeDevice fake("fake");
  tn_stream *a = FakeDevice::stream('A'), *b = FakeDevice::stream('B');
  core::set_current_stream(fake.id(), a);
  tn_error_word *of_a = core::stream_error_word(fake.id(), a),
                *of_b = core::stream_error_word(fake.id(), b);
  tn_error_word* plain = core::stream_error_word(fake.id(), nullptr);
  EXPECT_EQ(core::stream_error_word(fake.id(), a), of_a);
  EXPECT_NE(of_a, of_b);
  EXPECT_EQ(core::device_error_word(fake.id()), of_a) << "the current stream's";
  EXPECT_NE(of_a, plain);
  EXPECT_NE(core::stream_error_word(fake.id(1), a), of_a);
  *of_a = {TN_ERROR_INDEX, -1, 12, 10};
  core::synchronize_stream(fake.id(), b);
  EXPECT_EQ(fake.calls.back(), "sync B");
  EXPECT_TRUE(
      has(text_of<IndexError>([&] { core::synchronize_stream(fake.id(), a); }), "index 12"));
  core::synchronize_stream(fake.id(), a);
  *of_a = {TN_ERROR_INDEX, -1, 13, 10};
  *of_b = {TN_ERROR_INDEX, -1, 14, 10};
  EXPECT_TRUE(has(text_of<IndexError>([&] { core::synchronize(fake.id()); }), "index 13"));
  EXPECT_TRUE(has(text_of<IndexError>([&] { core::synchronize(fake.id()); }), "index 14"));
  core::synchronize(fake.id());
  core::set_current_stream(fake.id(), nullptr);
}

TEST(DeviceState, TheDefaultStreamIsAwaitedAlone) {
  FakeDevice fake("fake");
  fake.api.stream_sync = [](void* c, int32_t, tn_stream* s) {
    static_cast<FakeDevice*>(c)->calls.push_back(s == nullptr ? "wait for the default stream"
                                                              : "wait for a stream");
    return tn_status{TN_OK};
  };
  tn_stream* other = FakeDevice::stream('A');
  core::stream_error_word(fake.id(), other)->code = TN_ERROR_INDEX;
  core::synchronize_stream(fake.id(), nullptr);
  EXPECT_EQ(fake.calls.back(), "wait for the default stream");
  EXPECT_THROW(core::synchronize(fake.id()), IndexError)
      << "what another stream reported is not lost";
  EXPECT_EQ(fake.calls.back(), "sync");
}

TEST(DeviceState, ErrorWordsGoBackWithTheDevice) {
  FakeDevice fake("fake");
  fake.give_pinned_memory();
  tn_stream* a = FakeDevice::stream('A');
  core::set_current_stream(fake.id(), a);
  EXPECT_NE(core::stream_error_word(fake.id(), nullptr), core::stream_error_word(fake.id(), a));
  EXPECT_EQ(fake.pinned_alive, 2);
  core::release_device(fake.slot);
  EXPECT_EQ(fake.pinned_alive, 0);
  EXPECT_EQ(core::stream_error_word(fake.id(), a), nullptr);
  core::attach_device(fake.slot, &fake.api);
  *core::stream_error_word(fake.id(), a) = {TN_ERROR_INDEX, -1, 12, 10};
  EXPECT_THROW(core::synchronize_stream(fake.id(), a), IndexError);
  core::set_current_stream(fake.id(), nullptr);
}
