// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samples 22, 23 and 38 to 43: broadcasting as the notes of 0.2 have it, and the switches for older
// programs.
#include "tenon/compat/backcompat.h"
// The switches before all other headers.
#include "tests/samples/support.h"

namespace tenon::samples {
namespace {

TEST(Samples, S22_ShapesThatBroadcast) {
  const Tensor x = ones({5, 7, 3});
  EXPECT_EQ((x + ones({5, 7, 3})).sizes(), x.sizes());
  EXPECT_EQ(printed((ones({5, 3, 4, 1}) + ones({3, 1, 1})).sizes()), "[5, 3, 4, 1]");
}

TEST(Samples, S23_TheirSizes) {
  EXPECT_EQ(printed((ones({5, 1, 4, 1}) + ones({3, 1, 1})).sizes()), "[5, 3, 4, 1]");
  expect_words(text_of<ValueError>([] {
                 ones({5, 2, 4, 1}) + ones({3, 1, 1});
               }),
               {"size 2 of a does not match size 3 of b at dimension 1"});
}

// The hook of the source prints a traceback; this one counts.
TEST(Samples, S38_AWarningHookAndTwoSwitches) {
  const Heard heard;
  const compat::BroadcastWarning broadcasts;
  const compat::KeepdimWarning keepdims;
  add(ones({4, 1}), ones({4}));
  sum(ones({2, 3}), 1);
  EXPECT_EQ(Heard::messages().size(), 2u);
  sum(ones({2, 3}), 1, false);  // says what it wants
  mse_loss(ones({2, 3}), ones({2, 3}));
  EXPECT_EQ(Heard::messages().size(), 2u);
}

TEST(Samples, S39_TheFlatForm) {
  const Heard heard;
  expect_words(text_of<ValueError>([] {
                 add(ones({4}), ones({2, 2}));
               }),
               {"size 4 of a does not match size 2 of b at dimension 1"});
  EXPECT_TRUE(Heard::messages().empty());
  const compat::PointwiseFallback fallback;
  EXPECT_TRUE(equal(add(ones({4}), ones({2, 2})), full({4}, 2.)));
  ASSERT_EQ(Heard::messages().size(), 1u);
  expect_words(Heard::messages()[0],
               {"not broadcastable", "same number of elements", "[4]", "[2, 2]"});
}

TEST(Samples, S40_BroadcastingToMore) {
  EXPECT_EQ(printed(add(ones({4, 1}), randn({4})).sizes()), "[4, 4]");
}

TEST(Samples, S41_BroadcastWarning) {
  const Heard heard;
  {
    const compat::BroadcastWarning on;
    EXPECT_TRUE(equal(add(ones({4, 1}), ones({4})), full({4, 4}, 2.)));
  }
  ASSERT_EQ(Heard::messages().size(), 1u);
  expect_words(Heard::messages()[0], {"do not have the same shape", "broadcastable", "[4, 1]"});
  add(ones({4, 1}), ones({4}));
  EXPECT_EQ(Heard::messages().size(), 1u);
}

TEST(Samples, S42_KeepdimWarning) {
  const Heard heard;
  {
    const compat::KeepdimWarning on;
    EXPECT_EQ(printed(sum(ones({2, 3}), 1).sizes()), "[2]");
  }
  ASSERT_EQ(Heard::messages().size(), 1u);
  expect_words(Heard::messages()[0], {"sum", "keepdim"});
  sum(ones({2, 3}), 1);
  EXPECT_EQ(Heard::messages().size(), 1u);
}

TEST(Samples, S43_BroadcastingByAccident) {
  EXPECT_TRUE(equal(ones({4}) + ones({4, 4}).sum(1, true), full({4, 4}, 5.)));
  EXPECT_TRUE(equal(ones({4}) + ones({4, 4}).sum(1), full({4}, 5.)));
}

}  // namespace
}  // namespace tenon::samples
