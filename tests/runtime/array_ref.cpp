// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/array_ref.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenon/runtime/error.h"
#include "tests/support.h"

using namespace tenon;

TEST(ArrayRef, BorrowsWhatItIsMadeFrom) {
  std::vector<int64_t> list = {3, 1, 2};
  const IntArrayRef run = list;
  EXPECT_EQ(run.data(), list.data());
  list[1] = 7;
  EXPECT_EQ(run[1], 7);
  EXPECT_EQ(run.front(), 3);
  EXPECT_EQ(run.back(), 2);
  EXPECT_EQ(run.vec(), list);
  EXPECT_EQ(run.slice(1), IntArrayRef({7, 2}));
  EXPECT_EQ(run.slice(1, 1), IntArrayRef({7}));
  EXPECT_NE(run, IntArrayRef({3, 7}));
  EXPECT_THROW(run.at(3), IndexError);
}

TEST(ArrayRef, IsWrittenAsAListInMessages) {
  EXPECT_EQ(core::join(IntArrayRef()), "[]");
  EXPECT_EQ(core::join(IntArrayRef({4})), "[4]");
  EXPECT_EQ(core::join("of ", IntArrayRef({1, -2, 3})), "of [1, -2, 3]");
}
