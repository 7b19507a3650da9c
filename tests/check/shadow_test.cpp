// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shadow checks: the null device returns zeros, so that a result other than zero differs from the
// reference's.
#include <gtest/gtest.h>

#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace {

using namespace tenon;

TEST(Shadow, CountsResultsThatDiffer) {
  const Tensor x = zeros({3}, TensorOptions(kFloat).device(Device("null")));
  core::set_shadow(1, "ref");
  const uint64_t before = core::shadow_mismatches();
  (void)x.relu();
  EXPECT_EQ(core::shadow_mismatches(), before) << "zero it is";
  (void)x.add(1);
  EXPECT_EQ(core::shadow_mismatches(), before + 1);
  core::set_shadow(0, "");
  (void)x.add(1);
  EXPECT_EQ(core::shadow_mismatches(), before + 1) << "turned off";
}

TEST(Shadow, NeedsADeviceToCompareWith) {
  EXPECT_THROW(core::set_shadow(1, "no_such_device"), ValueError);
}

}  // namespace
