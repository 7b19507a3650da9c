// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scalars combined with integer tensors: what truncates, wraps, saturates and what is rejected. The
// values are libtorch's.
#include <gtest/gtest.h>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

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

TEST(Numbers, FactorsOfIntegerResultsAreTruncated) {
  Tensor x = four(kInt64), m = x.reshape({2, 2});
  EXPECT_TRUE(equal(addcmul(x, x, x, 1.6), x + x * x));
  EXPECT_TRUE(equal(addmm(m, m, m, 1, 0.6), m));
  EXPECT_TRUE(equal(addmm(m, m, m, 0.6, 1), m.mm(m)));
}

TEST(Numbers, ScalarsThatADtypeCannotHoldAreRejected) {
  Tensor x = four(kByte);
  EXPECT_THROW(threshold(x, 1, 300), ValueError);
  EXPECT_THROW(addcmul(x, x, x, -1.0), ValueError);
  EXPECT_TRUE(equal(addcmul(x, x, x, -1), bytes({0, 0, 254, 250})));
  EXPECT_TRUE(equal(threshold(x, 1, -2), bytes({254, 254, 2, 3})));
}

TEST(Numbers, FactorsThatADtypeCannotHoldAreRejected) {
  const Tensor m = four(kByte).reshape({2, 2}), v = m[1], b = m.unsqueeze(0);
  for (const Scalar factor :
       {Scalar(-1.0), Scalar(-0.5), Scalar(256), Scalar(-256), Scalar(300.0), Scalar(1e20)}) {
    EXPECT_THROW(addmm(m, m, m, 1, factor), ValueError);
    EXPECT_THROW(addmm(m, m, m, factor, 1), ValueError);
    EXPECT_THROW(addmv(v, m, v, 1, factor), ValueError);
    EXPECT_THROW(addmv(v, m, v, factor, 1), ValueError);
    EXPECT_THROW(baddbmm(b, b, b, 1, factor), ValueError);
    EXPECT_THROW(baddbmm(b, b, b, factor, 1), ValueError);
  }
  EXPECT_TRUE(equal(addmm(m, m, m, 1, -1), bytes({254, 254, 252, 248}).reshape({2, 2})));
  EXPECT_TRUE(equal(addmm(m, m, m, -255, 1), m + m.mm(m)));
  Tensor kept = m.clone();
  EXPECT_THROW(kept.addmm_(m, m, 300, 1), ValueError);
  EXPECT_TRUE(equal(kept, m));
}

TEST(Numbers, FloatPowerInPlaceIsOfDoubles) {
  Tensor x = tensor({2., 3.}, kFloat64);
  EXPECT_TRUE(x.float_power_(2).is_same(x));
  EXPECT_TRUE(equal(x, tensor({4., 9.}, kFloat64)));
  EXPECT_TRUE(equal(x.float_power_(tensor({2, 0})), tensor({16., 1.}, kFloat64)));
  EXPECT_THROW(tensor({2.}, kFloat32).float_power_(2), TypeError);
  EXPECT_THROW(tensor({2}).float_power_(tensor({2.})), TypeError);
}

TEST(Numbers, AFractionalAlphaOfIntegersIsRejected) {
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
