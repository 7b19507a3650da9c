// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A kernel whose dtypes or signature are wrong is left out, and its operator decomposed in silence.
#include <set>
#include <string>

#include "tenon/plugins/plugins.h"
#include "tenon/tenon.h"
#include "tests/support.h"

using namespace tenon;

TEST(Plugins, LeaveNoKernelOut) {
  plugins::open_all();
  std::set<std::string> open;
  for (const plugins::Info& info : plugins::list()) {
    if (info.state == plugins::State::Opened) open.insert(info.name);
    EXPECT_TRUE(info.quarantined.empty()) << info.name << " left out " << info.quarantined.front();
  }
  for (const char* name : {"cpu", "null", "ref", "sparse"}) EXPECT_EQ(open.count(name), 1u) << name;
}
