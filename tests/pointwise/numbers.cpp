// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers beside integer tensors: what is cut, what wraps, what limits and what is refused. The values are libtorch's.
#include <gtest/gtest.h>

#include "tenon/core/error.h"
#include "tenon/ops.h"

namespace {

using namespace tenon;

Tensor four(ScalarType t) { return arange(4, TensorOptions().dtype(t)); }
Tensor bytes(std::vector<int64_t> v) { return tensor(v).to(kByte); }

TEST(Numbers, LimitsBeyondADtypeLimitNothing) {
  Tensor x = four(kByte);
  EXPECT_TRUE(equal(hardtanh(x), bytes({0, 1, 1, 1})));
  EXPECT_TRUE(equal(hardtanh(x, 1, 300), bytes({1, 1, 2, 3})));
  EXPECT_TRUE(equal(clamp_min(x, -2), x));
  EXPECT_TRUE(equal(clamp_max(x, 300), x));
  EXPECT_TRUE(equal(clamp_min(four(kInt64), -2), four(kInt64)));
}

TEST(Numbers, FactorsOfWholeResultsAreCut) {
  Tensor x = four(kInt64), m = x.reshape({2, 2});
  EXPECT_TRUE(equal(addcmul(x, x, x, 1.6), x + x * x));
  EXPECT_TRUE(equal(addmm(m, m, m, 1, 0.6), m));
  EXPECT_TRUE(equal(addmm(m, m, m, 0.6, 1), m.mm(m)));
}

TEST(Numbers, OneThatADtypeCannotHoldIsRefused) {
  Tensor x = four(kByte);
  EXPECT_THROW(threshold(x, 1, 300), ValueError);
  EXPECT_THROW(addcmul(x, x, x, -1.0), ValueError);
  EXPECT_TRUE(equal(addcmul(x, x, x, -1), bytes({0, 0, 254, 250})));
  EXPECT_TRUE(equal(threshold(x, 1, -2), bytes({254, 254, 2, 3})));
}

TEST(Numbers, AFractionalAlphaOfIntegersIsRefused) {
  Tensor x = four(kInt32);
  EXPECT_THROW(add(x, x, 1.5), TypeError);
  EXPECT_THROW(sub(x, x, 0.5), TypeError);
  EXPECT_THROW(add(x, 2, 1.5), TypeError);
  EXPECT_THROW(add(x, x, true), TypeError);
  EXPECT_THROW(addr(zeros({4, 4}, x.options()), x, x, 1, 1.5), TypeError);
  EXPECT_THROW(addr(zeros({4, 4}, x.options()), x, x, 0.5, 1), TypeError);
  EXPECT_EQ(add(x, 2.5, 1.5)[1].item<float>(), 4.75F);
}

}  // namespace
