// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The emulation of TDPBF16PS against the manual.
#include "plugin_cpu/tiles/emulated.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>

namespace {

namespace emulated = tenon::cpu::emulated;
using tenon::sdk::BFloat16;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Factors {
  BFloat16 a, b;
};

float dot(float sum, std::initializer_list<Factors> pairs) {
  BFloat16 a[32], b[32];
  for (int i = 0; i < 32; ++i) a[i] = b[i] = BFloat16(0.0f);
  int i = 0;
  for (const Factors& f : pairs) a[i] = f.a, b[i] = f.b, ++i;
  return emulated::dot(a, b, sum);
}

}  // namespace

TEST(EmulatedTiles, EvenAndOddElementsAreChainsOfTheirOwn) {
  // One chain would lose every 1 to the large number.
  EXPECT_EQ(dot(0, {{0x1p24f, 1}, {1, 1}, {1, 1}, {1, 1}}), 0x1p24f + 2);
}

TEST(EmulatedTiles, TheOldSumIsAddedLast) {
  EXPECT_EQ(dot(1, {{0x1p24f, 1}, {-0x1p24f, 1}}), 1);
  EXPECT_EQ(dot(1, {{0x1p24f, 1}}), 0x1p24f);
}

TEST(EmulatedTiles, AProductIsNotRoundedBeforeItIsAdded) {
  EXPECT_EQ(dot(0, {{-0x1.8p127f, 1}, {0, 0}, {0x1p127f, 2}}),
            0x1p126f);  // the product alone overflows
}

TEST(EmulatedTiles, DenormalsAreZerosInAndOut) {
  const float tiny = 0x1p-130f;
  ASSERT_NE(static_cast<float>(BFloat16(tiny)), 0);
  EXPECT_EQ(dot(0, {{tiny, 0x1p100f}}), 0);
  EXPECT_EQ(dot(tiny, {}), 0);
  EXPECT_EQ(dot(0, {{0x1p-100f, 0x1p-30f}}), 0);
  EXPECT_EQ(dot(0, {{0x1p-63f, 0x1p-63f}}), FLT_MIN);
  EXPECT_EQ(dot(FLT_MIN, {{-0x1p-63f, 0x1.8p-64f}}),
            FLT_MIN);  // the chain is flushed before it is added
  EXPECT_EQ(dot(1.5f * FLT_MIN, {{-0x1p-63f, 0x1p-63f}}), 0);
}

TEST(EmulatedTiles, WhatRoundsUpToANormalNumberFrom24BitsIsKept) {
  const Factors smallest{0x1p-63f, 0x1p-63f}, none{0, 0};
  EXPECT_EQ(dot(0, {smallest, none, {-0x1p-75f, 0x1p-76f}}), FLT_MIN);  // a tie
  EXPECT_EQ(dot(0, {smallest, none, {-0x1.8p-75f, 0x1p-76f}}), 0);
}

TEST(EmulatedTiles, InfinitiesAndNaNs) {
  EXPECT_EQ(dot(1, {{kInf, 2}}), kInf);
  EXPECT_EQ(dot(1, {{-kInf, 2}}), -kInf);
  EXPECT_TRUE(std::isnan(dot(1, {{kInf, 0}})));
  EXPECT_TRUE(std::isnan(dot(1, {{kInf, 1}, {-kInf, 1}})));
  EXPECT_TRUE(std::isnan(dot(-kInf, {{kInf, 1}})));
  EXPECT_TRUE(std::isnan(dot(0, {{std::numeric_limits<float>::quiet_NaN(), 0}})));
  EXPECT_EQ(dot(0x1p127f, {{0x1p127f, 1}}), kInf);
}

TEST(EmulatedTiles, EachSumHasItsRowOfAAndItsPairsOfB) {
  emulated::Tile a{}, b{}, sum{};
  const auto set = [](emulated::Tile& t, int line, int i, float x) {
    const BFloat16 v(x);
    std::memcpy(t.line[line] + 2 * i, &v, 2);
  };
  for (int i = 0; i < 16; ++i) set(a, i, 2 * i + 1, 1);  // row i has the odd element of pair i
  for (int k = 0; k < 16; ++k) {
    for (int n = 0; n < 16; ++n)
      set(b, k, 2 * n, -1), set(b, k, 2 * n + 1, static_cast<float>(16 * k + n));
  }
  for (float twice : {1.0f, 2.0f}) {
    emulated::multiply(sum, a, b);
    for (int i = 0; i < 16; ++i) {
      float line[16];
      std::memcpy(line, sum.line[i], 64);
      for (int n = 0; n < 16; ++n) EXPECT_EQ(line[n], twice * static_cast<float>(16 * i + n));
    }
  }
}

TEST(EmulatedTilesDeathTest, WithoutAConfigurationTheyTrap) {
  EXPECT_DEATH(emulated::Tiles::zero<0>(), "");
  EXPECT_DEATH(
      (emulated::Tiles::configure(), emulated::Tiles::release(), emulated::Tiles::zero<0>()), "");
}
