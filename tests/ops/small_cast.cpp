// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operands of few bytes are cast on the stack of the call: the bits of those that were cast before
// it.
#include <gtest/gtest.h>

#include <cstdint>

#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;

TEST(SmallCast, EveryPairOfDtypes) {
  const ScalarType all[] = {kByte, kChar, kShort,    kInt,   kLong,
                            kBool, kHalf, kBFloat16, kFloat, kDouble};
  const Tensor numbers = tensor({-3., 0., 1., 2.5, 100.}).to(kDouble);
  for (ScalarType a : all) {
    for (ScalarType b : all) {
      const Tensor x = numbers.to(a), y = numbers.flip({0}).to(b);
      const ScalarType type = promote_types(a, b);
      const Tensor sum = x + y;
      EXPECT_EQ(sum.scalar_type(), type) << toString(a) << " + " << toString(b);
      EXPECT_TRUE(test::same_bits(sum, x.to(type) + y.to(type)))
          << toString(a) << " + " << toString(b);
    }
  }
}

TEST(SmallCast, LargeIntegersAreRoundedOnce) {
  const Tensor n =
      tensor(std::vector<int64_t>{INT64_MAX, INT64_MIN, (int64_t{1} << 53) + 1, 16777217});
  for (ScalarType type : {kHalf, kBFloat16, kFloat, kDouble}) {
    const Tensor one = ones({4}, TensorOptions(type));
    EXPECT_TRUE(test::same_bits(n * one, n.to(type) * one)) << toString(type);
  }
}
