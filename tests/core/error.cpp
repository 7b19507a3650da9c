// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/error.h"

#include <gtest/gtest.h>

#include "tenon/core/array_ref.h"

using namespace tenon;

TEST(Error, EachCodeHasItsClass) {
  EXPECT_THROW(core::throw_error(TN_ERROR_INDEX, "x"), IndexError);
  EXPECT_THROW(core::throw_error(TN_ERROR_TYPE, "x"), TypeError);
  EXPECT_THROW(core::throw_error(TN_ERROR_VALUE, "x"), ValueError);
  EXPECT_THROW(core::throw_error(TN_ERROR_UNSUPPORTED, "x"), NotImplementedError);
  EXPECT_THROW(core::throw_error(TN_ERROR_MEMORY, "x"), OutOfMemoryError);
  EXPECT_THROW(core::throw_error(TN_ERROR_BACKEND, "x"), BackendError);
  EXPECT_THROW(core::throw_error(12345, "x"), Error);
}

TEST(Error, ContextIsPutInFront) {
  ValueError e("what happened");
  e.add_context("softmax");
  EXPECT_STREQ(e.what(), "softmax: what happened");
  EXPECT_EQ(e.code(), TN_ERROR_VALUE);
}

TEST(Error, MessagesAreJoinedFromAnything) {
  int64_t sizes[] = {2, 3};
  EXPECT_EQ(core::join("a", 1, ' ', 2.5, ' ', 0.1f, ' ', true, ' ', IntArrayRef(sizes), ' ', std::string("s"), -3l),
            "a1 2.5 0.1 true [2, 3] s-3");
}
