// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Copies between all dtypes and any strides, and the factories.
#include <gtest/gtest.h>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

TEST(Copies, EveryPairOfDtypes) {
  for (ScalarType from : core::kBuiltInDtypes) {
    for (ScalarType to : core::kBuiltInDtypes) {
      Tensor x = arange(3, TensorOptions(kInt64)).to(from), y = x.to(to);
      ASSERT_EQ(y.scalar_type(), to);
      for (int64_t i = 0; i < 3; ++i) {
        int64_t expected = from == kBool || to == kBool ? i != 0 : i;
        EXPECT_EQ(y.select(0, i).item().to<int64_t>(), expected)
            << dtype_name(from) << " to " << dtype_name(to);
      }
    }
  }
}

// Sizes around the tiles of the transposing copy.
TEST(Copies, TransposedInTiles) {
  for (ScalarType t : {kUInt8, kInt16, kInt32, kInt64}) {
    for (int64_t rows : {3, 16, 61, 130}) {
      for (int64_t columns : {4, 15, 64, 70}) {
        Tensor x = arange(2 * rows * columns).view({2, rows, columns}).remainder(120).to(t);
        Tensor y = x.transpose(1, 2).clone(MemoryFormat::Contiguous);
        ASSERT_TRUE(y.is_contiguous());
        ASSERT_TRUE(equal(y, x.transpose(1, 2))) << dtype_name(t) << ' ' << rows << ' ' << columns;
        ASSERT_TRUE(equal(y.transpose(1, 2).contiguous(), x));
        for (int64_t i = 0; i < rows; i += 7) {
          ASSERT_EQ(y.select(0, 1).select(0, 1).select(0, i).item().toLong(),
                    (rows * columns + i * columns + 1) % 120);
        }
      }
    }
  }
}

TEST(Copies, BroadcastAndRefuse) {
  Tensor x = zeros({2, 3});
  x.copy_(tensor({1, 2, 3}));
  EXPECT_TRUE(equal(x, tensor({{1., 2., 3.}, {1., 2., 3.}})));
  EXPECT_THROW(x.copy_(zeros({2})), ValueError);
  EXPECT_TRUE(x.to(kFloat).is_same(x));
  EXPECT_FALSE(x.to(kFloat, false, true).is_same(x));
}

TEST(Copies, Factories) {
  EXPECT_EQ(arange(2, 6).scalar_type(), kLong);
  EXPECT_EQ(arange(0., 1., 0.25).numel(), 4);
  EXPECT_EQ(full({2}, 3).scalar_type(), kLong);
  EXPECT_EQ(full({2}, 3.5).scalar_type(), kFloat);
  EXPECT_EQ(full({2}, true).scalar_type(), kBool);
  EXPECT_TRUE(ones({2}, requires_grad()).requires_grad());
  EXPECT_FALSE(ones({2}, requires_grad()).new_zeros({1}).requires_grad());
  EXPECT_EQ(zeros_like(ones({2, 3}).t()).strides(), IntArrayRef({1, 3}));
  EXPECT_TRUE(equal(linspace(0, 1, 5), tensor({0., 0.25, 0.5, 0.75, 1.})));
  EXPECT_TRUE(equal(eye(2), tensor({{1., 0.}, {0., 1.}})));
  EXPECT_TRUE(equal(ones({2, 2}).tril(-1), tensor({{0., 0.}, {1., 0.}})));
  EXPECT_THROW(arange(0, 5, -1), ValueError);
  EXPECT_THROW(zeros({-1}), ValueError);
  EXPECT_THROW(tensor({1., 2.}).item(), ValueError);
}

TEST(Copies, PadAndRoll) {
  Tensor x = arange(4, TensorOptions(kFloat)).view({1, 1, 4});
  EXPECT_TRUE(equal(pad(x, {2, 1}, "reflect"), tensor({{{2., 1., 0., 1., 2., 3., 2.}}})));
  EXPECT_TRUE(equal(pad(x, {1, 1}, "replicate"), tensor({{{0., 0., 1., 2., 3., 3.}}})));
  EXPECT_TRUE(equal(pad(x, {1, 0}, "circular"), tensor({{{3., 0., 1., 2., 3.}}})));
  EXPECT_TRUE(equal(pad(x, {-1, 1}, "constant", 9.), tensor({{{1., 2., 3., 9.}}})));
  EXPECT_TRUE(equal(arange(4).roll(1), tensor({3, 0, 1, 2})));
  EXPECT_TRUE(equal(arange(4).flip({0}), tensor({3, 2, 1, 0})));
}

}  // namespace
}  // namespace tenon
