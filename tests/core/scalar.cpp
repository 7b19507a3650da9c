// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/runtime/error.h"

using namespace tenon;

TEST(Scalar, KeepsTheKindThatWasWritten) {
  EXPECT_TRUE(Scalar(1).isIntegral());
  EXPECT_TRUE(Scalar(1.5f).isFloatingPoint());
  EXPECT_TRUE(Scalar(true).isBoolean());
  EXPECT_FALSE(Scalar(true).isIntegral());
  EXPECT_TRUE(Scalar(true).isIntegral(true));
  EXPECT_EQ(Scalar(2).type(), kLong);
  EXPECT_EQ(Scalar(2.0).type(), kDouble);
  EXPECT_EQ(Scalar(false).type(), kBool);
}

TEST(Scalar, ConvertsAsACastDoes) {
  EXPECT_EQ(Scalar(2.9).to<int>(), 2);
  EXPECT_EQ(Scalar(-2.9).to<int64_t>(), -2);
  EXPECT_EQ(Scalar(-0.9).to<uint8_t>(), 0);
  EXPECT_EQ(Scalar(3).to<double>(), 3.0);
  EXPECT_TRUE(Scalar(0.5).to<bool>());
  EXPECT_EQ(static_cast<float>(Scalar(1.5).to<Half>()), 1.5f);
}

TEST(Scalar, RefusesWhatAnIntegerCannotHold) {
  EXPECT_THROW(Scalar(300).to<uint8_t>(), ValueError);
  EXPECT_THROW(Scalar(1e30).to<int64_t>(), ValueError);
  EXPECT_THROW(Scalar(9223372036854775808.0).to<int64_t>(), ValueError);
  EXPECT_EQ(Scalar(-9223372036854775808.0).to<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_THROW(Scalar(std::nan("")).to<int>(), ValueError);
  EXPECT_THROW(Scalar(-1.0).to<uint8_t>(), ValueError);
}

TEST(Scalar, HoldsAComplexNumber) {
  const Scalar z = std::complex<float>(1.5f, -2);
  EXPECT_TRUE(z.isComplex());
  EXPECT_EQ(z.type(), kComplexDouble);
  EXPECT_EQ(z.toComplexDouble(), core::complex<double>(1.5, -2));
  EXPECT_EQ((-z).conj().toComplexDouble(), core::complex<double>(-1.5, -2));
  EXPECT_EQ(Scalar(core::complex<double>(3)).toDouble(), 3);
  EXPECT_THROW(z.toDouble(), ValueError);
  EXPECT_THROW(z.to<int>(), ValueError);
  EXPECT_TRUE(z.toBool());
}

TEST(Scalar, NegatesTheSmallestIntegerWithoutOverflow) {
  int64_t min = std::numeric_limits<int64_t>::min();
  EXPECT_EQ((-Scalar(min)).to<int64_t>(), min);
  EXPECT_EQ((-Scalar(2.5)).toDouble(), -2.5);
}

TEST(Scalar, CrossesTheAbi) {
  for (Scalar s : {Scalar(7), Scalar(7.5), Scalar(true), Scalar(core::complex<double>(1, 2))}) {
    Scalar back = Scalar::from_abi(s.abi());
    EXPECT_EQ(back.type(), s.type());
    EXPECT_EQ(back.toComplexDouble(), s.toComplexDouble());
  }
  tn_value none{};
  EXPECT_THROW(Scalar::from_abi(none), TypeError);
}
