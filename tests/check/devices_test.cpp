// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The two devices of the tests: what they store, and the requests that they must never get.
#include <gtest/gtest.h>

#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace {

using namespace tenon;

TEST(RefDevice, KeepsWhatIsCopiedToIt) {
  Tensor x = tensor({{1., 2., 3.}, {4., 5., 6.}}, TensorOptions().dtype(kFloat64));
  Tensor remote = x.to(Device("ref"));
  EXPECT_EQ(remote.device().str().substr(0, 3), "ref");
  EXPECT_NE(remote.data_ptr<double>(), nullptr);
  EXPECT_THROW((remote.accessor<double, 2>()), TypeError);
  EXPECT_TRUE(equal(remote.cpu(), x));
  EXPECT_TRUE(equal(remote.t().cpu(), x.t()));
}

TEST(RefDevice, ServesItsOwnOperatorsNatively) {
  Tensor x = tensor({{1., 2.}, {3., 4.}}, TensorOptions().dtype(kFloat64)).to(Device("ref"));
  core::reset_fallback_counts();
  Tensor y = x.mm(x);
  EXPECT_TRUE(core::fallback_counts().empty()) << core::fallback_summary();
  EXPECT_TRUE(equal(y.cpu(), tensor({{7., 10.}, {15., 22.}}, TensorOptions().dtype(kFloat64))));
}

TEST(NullDevice, IsNeverAskedForAWrongRange) {
  Tensor x = empty({5, 7}, TensorOptions().device(Device("null")));
  EXPECT_THROW(x.data_ptr<float>(), Error);
  Tensor part = x.slice(0, 1, 4).slice(1, 2, 6);
  Tensor back = part.cpu();
  EXPECT_EQ(back.sizes(), IntArrayRef({3, 4}));
  EXPECT_EQ(back.sum().item<double>(), 0);
}

// Shape rules, promotion, broadcasting and outputs without arithmetic.
TEST(NullDevice, ServesACallWithoutComputing) {
  Tensor x = empty({4, 1}, TensorOptions().device(Device("null"))),
         y = empty({3}, x.options().dtype(kFloat64));
  core::reset_fallback_counts();
  Tensor sum = x + y;
  EXPECT_EQ(sum.sizes(), IntArrayRef({4, 3}));
  EXPECT_EQ(sum.scalar_type(), kFloat64);
  EXPECT_EQ(sum.device(), x.device());
  EXPECT_EQ((x + x).mul(2).neg().relu().sizes(), x.sizes());
  x.add_(1);
  EXPECT_TRUE(core::fallback_counts().empty()) << core::fallback_summary();
  x.exp();  // has no kernel there
  EXPECT_FALSE(core::fallback_counts().empty());
}

}  // namespace
