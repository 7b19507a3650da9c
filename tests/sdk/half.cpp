// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using tenon::sdk::BFloat16;
using tenon::sdk::Half;

TEST(Half, EveryValueSurvivesFloat) {
  for (uint32_t b = 0; b < 65536; ++b) {
    Half h;
    h.x = static_cast<uint16_t>(b);
    const float f = h;
    if (std::isnan(f))
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(f))));
    else
      EXPECT_EQ(Half(f).x, h.x) << b;
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(Half(1.0f + 1.0f / 2048).x, Half(1.0f).x);
  EXPECT_EQ(Half(1.0f + 3.0f / 2048).x, Half(1.0f + 4.0f / 2048).x);
  EXPECT_EQ(Half(65519.0f).x, 0x7bff);
  EXPECT_EQ(Half(65520.0f).x, 0x7c00);
  EXPECT_EQ(Half(std::ldexp(1.0f, -25)).x, 0);
  EXPECT_EQ(Half(std::ldexp(1.5f, -25)).x, 1);
  EXPECT_EQ(Half(-std::numeric_limits<float>::infinity()).x, 0xfc00);
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(BFloat16(1.0f).x, 0x3f80);
  EXPECT_EQ(BFloat16(1.0f + 1.0f / 256).x, 0x3f80);
  EXPECT_EQ(BFloat16(1.0f + 3.0f / 256).x, 0x3f82);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(NAN))));
}
