// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Floats of eight bits against the definition of rounding: the nearest of all values, ties to even.
#include "tenon/core/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tenon/core/half.h"

namespace tenon {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Format {
  const char* name;
  core::SmallFloat format;
  float least, largest;
  uint8_t of_infinity;
};
const Format kFormats[] = {
    {"e5m2", core::kE5M2, 0x1p-16f, 57344, 0x7c},
    {"e4m3fn", core::kE4M3FN, 0x1p-9f, 448, 0x7e},
    {"e5m2fnuz", core::kE5M2FNUZ, 0x1p-17f, 57344, 0x80},
    {"e4m3fnuz", core::kE4M3FNUZ, 0x1p-10f, 240, 0x80},
};

TEST(Float8, ValuesGoBackToTheirBits) {
  for (const Format& f : kFormats) {
    for (int bits = 0; bits < 256; ++bits) {
      const float value = core::decode(f.format, static_cast<uint8_t>(bits));
      if (std::isnan(value)) continue;
      if (std::isfinite(value)) {
        EXPECT_LE(std::fabs(value), f.largest) << f.name;
      }
      EXPECT_EQ(core::encode(f.format, value), bits) << f.name;
    }
    EXPECT_EQ(core::decode(f.format, 1), f.least) << f.name;
    EXPECT_EQ(core::encode(f.format, f.largest), core::encode(f.format, f.largest * 1.01f))
        << f.name;
    EXPECT_EQ(core::encode(f.format, kInfinity), f.of_infinity) << f.name;
    EXPECT_TRUE(std::isnan(core::decode(f.format, core::encode(f.format, NAN)))) << f.name;
  }
}

TEST(Float8, RoundToTheNearestTiesToEven) {
  std::mt19937 random(7);
  for (const Format& f : kFormats) {
    std::vector<std::pair<float, int>> grid;  // from zero up
    for (int bits = 0; bits < 128; ++bits) {
      const float value = core::decode(f.format, static_cast<uint8_t>(bits));
      if (std::isfinite(value)) grid.emplace_back(value, bits);
    }
    for (std::size_t i = 0; i + 1 < grid.size(); ++i) {
      const auto [low, a] = grid[i];
      const auto [high, b] = grid[i + 1];
      const float middle = low + (high - low) / 2;
      EXPECT_EQ(core::encode(f.format, middle), a % 2 == 0 ? a : b) << f.name << ' ' << middle;
      EXPECT_EQ(core::encode(f.format, std::nextafter(middle, 0.0f)), a) << f.name;
      EXPECT_EQ(core::encode(f.format, std::nextafter(middle, kInfinity)), b) << f.name;
      const float between = std::uniform_real_distribution<float>(low, middle)(random);
      if (between > low && between < middle) {
        EXPECT_EQ(core::encode(f.format, between), a) << f.name << ' ' << between;
      }
      if (a != 0) {
        EXPECT_EQ(core::encode(f.format, -low), a + 128) << f.name;
      }
    }
  }
}

TEST(Float8, FnuzHasNoNegativeZero) {
  EXPECT_EQ(Float8_e4m3fnuz(-0.0f).x, 0);
  EXPECT_EQ(Float8_e4m3fnuz(-1e-10f).x, 0);
  EXPECT_EQ(Float8_e4m3fn(-0.0f).x, 0x80);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8_e5m2fnuz(0x80, Float8_e5m2fnuz::from_bits()))));
}

TEST(Float8, AnExponentAlone) {
  for (int bits = 0; bits < 255; ++bits) {
    const float value = core::decode(core::kE8M0FNU, static_cast<uint8_t>(bits));
    EXPECT_EQ(value, std::ldexp(1.0f, bits - 127));
    EXPECT_EQ(core::encode(core::kE8M0FNU, value), bits);
    EXPECT_EQ(core::encode(core::kE8M0FNU, -value), bits);
    if (bits == 0) continue;
    EXPECT_EQ(core::encode(core::kE8M0FNU, std::nextafter(value * 1.5f, 0.0f)), bits);
    EXPECT_EQ(core::encode(core::kE8M0FNU, value * 1.5f), bits + 1);
  }
  EXPECT_EQ(core::encode(core::kE8M0FNU, NAN), 0xff);
  EXPECT_EQ(core::encode(core::kE8M0FNU, kInfinity), 0xff);
}

}  // namespace
}  // namespace tenon
