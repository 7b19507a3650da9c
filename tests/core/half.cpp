// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tenon;

namespace {
float half(uint16_t bits) { return Half(bits, Half::from_bits()); }
float bfloat(uint16_t bits) { return BFloat16(bits, BFloat16::from_bits()); }
}  // namespace

TEST(Half, EveryValueSurvivesARoundTripThroughFloat) {
  for (uint32_t b = 0; b <= 0xffff; ++b) {
    float f = half(static_cast<uint16_t>(b));
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(f)))) << b;
    } else {
      EXPECT_EQ(Half(f).x, b);
    }
  }
}

// Between neighbors a and b, the midpoint goes to the even one and everything else to the nearer
// one.
TEST(Half, RoundsToNearestEven) {
  for (uint16_t b = 0; b < 0x7bff; ++b) {
    float low = half(b), high = half(static_cast<uint16_t>(b + 1));
    float middle = static_cast<float>((static_cast<double>(low) + high) / 2);
    uint16_t even = b % 2 == 0 ? b : static_cast<uint16_t>(b + 1);
    ASSERT_EQ(Half(middle).x, even) << b;
    ASSERT_EQ(Half(std::nextafter(middle, 0.0f)).x, b);
    ASSERT_EQ(Half(std::nextafter(middle, 1e9f)).x, b + 1);
    ASSERT_EQ(Half(-middle).x, even | 0x8000);
  }
}

TEST(Half, LargeNumbersBecomeInfinity) {
  EXPECT_EQ(Half(65504.0f).x, 0x7bff);
  EXPECT_EQ(Half(65519.0f).x, 0x7bff);
  EXPECT_EQ(Half(65520.0f).x, 0x7c00);
  EXPECT_EQ(Half(1e30f).x, 0x7c00);
  EXPECT_EQ(Half(-std::numeric_limits<float>::infinity()).x, 0xfc00);
}

TEST(Half, KnownValues) {
  EXPECT_EQ(Half(1.0f).x, 0x3c00);
  EXPECT_EQ(Half(5.9604644775390625e-8f).x, 1);
  EXPECT_EQ(Half(2.98023223876953125e-8f).x, 0) << "half of the smallest goes to even zero";
  EXPECT_EQ(Half(-0.0f).x, 0x8000);
}

TEST(BFloat16, EveryValueSurvivesARoundTripThroughFloat) {
  for (uint32_t b = 0; b <= 0xffff; ++b) {
    float f = bfloat(static_cast<uint16_t>(b));
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(f)))) << b;
    } else {
      EXPECT_EQ(BFloat16(f).x, b);
    }
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  for (uint32_t b = 0; b < 0x7f7f; ++b) {
    float middle = core::bits_to_float(b << 16 | 0x8000);
    ASSERT_EQ(BFloat16(middle).x, b % 2 == 0 ? b : b + 1);
    ASSERT_EQ(BFloat16(core::bits_to_float(b << 16 | 0x7fff)).x, b);
    ASSERT_EQ(BFloat16(core::bits_to_float(b << 16 | 0x8001)).x, b + 1);
  }
}

TEST(BFloat16, ANaNWithLowBitsOnlyStaysNaN) {
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(core::bits_to_float(0x7f800001)))));
}
