// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Streams and events where there is only the default stream; tests/cuda/stream_test.cpp has a
// device with more.
#include "tenon/stream.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon::test {
namespace {

TEST(Streams, TheHostHasOne) {
  const Stream s = default_stream(kCPU);
  EXPECT_EQ(s, current_stream(kCPU));
  EXPECT_EQ(s, stream_from_pool(kCPU, -1));
  EXPECT_EQ(s.id(), 0);
  EXPECT_EQ(s.device(), Device(kCPU));
  EXPECT_EQ(s.native_handle(), nullptr);
  EXPECT_TRUE(s.query());
  s.synchronize();
  StreamGuard on(s);
  DeviceGuard there(kCPU);
  EXPECT_EQ(on.original_stream(), s);
  EXPECT_EQ(there.original_device(), Device(kCPU));
  ones({3}).record_stream(s);
  std::ostringstream text;
  text << s;
  EXPECT_EQ(text.str(), "stream 0 on device cpu");
}

TEST(Streams, TheHostsEventsMeasureItsClock) {
  Event begin(kCPU, EventFlag::BACKEND_DEFAULT), end(kCPU, EventFlag::BACKEND_DEFAULT), never(kCPU);
  EXPECT_TRUE(never.query()) << "as libtorch has it";
  never.synchronize();
  never.block(default_stream(kCPU));
  expect_words(text_of<ValueError>([&] { (void)begin.elapsed_time(end); }),
               {"both events must be recorded"});
  begin.record();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  end.record(default_stream(kCPU));
  EXPECT_TRUE(end.was_marked_for_recording());
  EXPECT_TRUE(end.query());
  EXPECT_GE(begin.elapsed_time(end), 2);
  EXPECT_LE(end.elapsed_time(begin), -2);
  never.record();
  expect_words(text_of<ValueError>([&] { (void)begin.elapsed_time(never); }), {"made with timing"});
}

TEST(Streams, MisuseIsNamed) {
  expect_words(
      text_of<NotImplementedError>([] { (void)Event(kCPU, EventFlag::INTERPROCESS).ipc_handle(); }),
      {"device 'cpu' cannot share events between processes"});
  expect_words(text_of<ValueError>([] { (void)Event(kCPU).ipc_handle(); }), {"INTERPROCESS"});
  expect_words(text_of<NotImplementedError>([] { Event(Device(kCPU), "abc"); }),
               {"cannot share events"});
  expect_words(text_of<ValueError>([] { Event(kCUDA).record(default_stream(kCPU)); }),
               {"is of cuda", "stream of cpu"});
}

}  // namespace
}  // namespace tenon::test
