// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/stream/device_state.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/tensor_impl.h"
#include "tenon/runtime/pinned.h"
#include "tenon/runtime/stream.h"
#include "tests/runtime/fake_device.h"

using namespace tenon;
using test::FakeDevice;

TEST(Copy, ACopyCountsAsOneWrite) {
  FakeDevice fake("fake");
  const int64_t n = 8;
  core::Impl there = core::new_tensor("test", kFloat, fake.id(), 1, &n);
  core::Impl here = core::new_tensor("test", kFloat, core::kHost, 1, &n);
  const uint64_t before = there->storage->head.writes;
  core::copy(*there, *here);
  EXPECT_EQ(there->storage->head.writes, before + 1);
  EXPECT_EQ(there->storage->version.load(), 1u);
}

TEST(Copy, ADownloadIntoPinnedMemoryWaitsWhereItIsAskedTo) {
  FakeDevice fake("fake");
  fake.give_pinned_memory();
  const int64_t n = 8;
  core::Impl there = core::new_tensor("test", kFloat, fake.id(), 1, &n);
  core::Impl pinned = core::TensorImpl::make(kFloat, core::make_pinned(32), 0, 1, &n);
  core::Impl pageable = core::new_tensor("test", kFloat, core::kHost, 1, &n);
  const auto waits = [&] { return std::count(fake.calls.begin(), fake.calls.end(), "sync"); };
  core::copy(*pinned, *there, true);
  EXPECT_EQ(waits(), 0);
  core::copy(*pinned, *there, false);
  EXPECT_EQ(waits(), 1);
  core::copy(*pageable, *there, true);
  EXPECT_EQ(waits(), 2) << "the host could read what has not come";
}

TEST(Copy, CopiesToTheHostRaiseWhatTheStreamReported) {
  FakeDevice fake("fake");
  const int64_t one = 1;
  core::Impl t = core::new_tensor("test", kFloat32, fake.id(), 1, &one);
  *core::stream_error_word(fake.id(), nullptr) = {TN_ERROR_INDEX, -1, 12, 10};
  EXPECT_THROW(core::item(*t), IndexError);
  core::item(*t);
}
