// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A sum of losses keeps every step's graph alive; a sum of their scalars keeps none.
#include <gtest/gtest.h>

#include "tenon/autograd/node.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

TEST(LiveNodes, ASumOfLossesKeepsItsGraphs) {
  const int64_t before = autograd::live_nodes();
  const Tensor w = ones({3}).set_requires_grad(true);
  double number = 0;
  for (int step = 0; step < 1000; ++step) number += (w * w).sum().item<double>();
  EXPECT_EQ(number, 3000);
  EXPECT_LE(autograd::live_nodes(), before + 1);  // the leaf's own
  {
    Tensor sum = zeros({});
    for (int step = 0; step < 1000; ++step) sum = sum + (w * w).sum();
    EXPECT_GE(autograd::live_nodes(), before + 3000);
  }
  EXPECT_LE(autograd::live_nodes(), before + 1);
}

}  // namespace
}  // namespace tenon
