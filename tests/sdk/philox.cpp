// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/philox.h"

#include <gtest/gtest.h>

using namespace tenon::sdk;

// The known answer of the generator's authors for a zero key and a zero counter.
TEST(Philox, KnownAnswer) {
  const PhiloxBlock b = philox_block(0, 0);
  EXPECT_EQ(b.w[0], 0x6627e8d5u);
  EXPECT_EQ(b.w[1], 0xe169c58du);
  EXPECT_EQ(b.w[2], 0xbc57ac4cu);
  EXPECT_EQ(b.w[3], 0x9b00dbd8u);
}

TEST(Philox, AReaderStartsAnywhere) {
  for (uint64_t start = 0; start < 9; ++start) {
    PhiloxReader r(7, 3, start);
    for (uint64_t w = start; w < start + 12; ++w) EXPECT_EQ(r.next(), philox_word(7, 3, w));
  }
}

TEST(Philox, FloatsAreBelowOne) {
  EXPECT_LT(philox_float(~0u), 1.0f);
  EXPECT_LT(philox_double(~uint64_t{0}), 1.0);
  EXPECT_EQ(philox_float(0), 0.0f);
}
