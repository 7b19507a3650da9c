// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// When the plugins of a layout are loaded.
#include <algorithm>

#include "tenon/plugins/plugins.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

// Kernels of a device for the layout, and the libraries that they need, wait for the device's first
// use.
TEST(SparsePlugins, PluginsOfADeviceLoadOnItsFirstUse) {
  EXPECT_EQ(test::hybrid(kCPU).coalesce()._nnz(), 2);
  int open = 0;
  for (const plugins::Info& i : plugins::list()) {
    if (std::count(i.layouts.begin(), i.layouts.end(), "sparse_coo") == 0) continue;
    EXPECT_EQ(i.state, i.device == "any" ? plugins::State::Opened : plugins::State::Found)
        << i.name;
    open += i.device == "any";
  }
  EXPECT_EQ(open, 1);
}

}  // namespace
}  // namespace tenon
