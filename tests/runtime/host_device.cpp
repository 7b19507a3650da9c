// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/device/device.h"

using namespace tenon;

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
