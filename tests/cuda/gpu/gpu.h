// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tests that need a GPU; without one they are skipped.
#pragma once

#include <gtest/gtest.h>

#include "tenon/core/backend.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/tenon.h"

namespace tenon::test {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    core::backend_source().open_for_device("cuda");
    slot = core::device_slot(kCUDA);
    if (slot < 0 || !core::ensure_device(slot))
      GTEST_SKIP() << "no device: " << core::backend_source().why_absent("cuda");
    api = core::device_entry(slot).api;
    manual_seed(1);
  }
  core::DeviceSlot slot = -1;
  const tn_device_api* api = nullptr;
};

}  // namespace tenon::test
