// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A kernel whose dtypes or signature are wrong is left out, and its operator decomposed in silence.
#include "tenon/plugins/plugins.h"
#include "tenon/tenon.h"
#include "tests/support.h"

using namespace tenon;

TEST(CpuPlugin, LeavesNoKernelOut) {
  add(ones({2}), ones({2}));
  bool found = false;
  for (const plugins::Info& info : plugins::list()) {
    if (info.name != "cpu") continue;
    found = true;
    EXPECT_GT(info.kernels, 0);
    EXPECT_TRUE(info.quarantined.empty()) << info.quarantined.front();
  }
  EXPECT_TRUE(found);
}
