// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "tenon/runtime/array_ref.h"

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

TEST(Error, TheOutermostCallIsNamed) {
  ValueError e("transpose.int: what happened");
  e.set_called("swapdims");
  EXPECT_STREQ(e.what(), "swapdims: in transpose.int: what happened");
  e.set_called("movedim");
  EXPECT_STREQ(e.what(), "movedim: in transpose.int: what happened");
  EXPECT_EQ(e.code(), TN_ERROR_VALUE);
}

TEST(Error, AnErrorOfTheCallItselfStaysAsItIs) {
  for (const char* text : {"add: what", "add_: what", "add.Tensor: what"}) {
    ValueError e(text);
    e.set_called("add.Scalar");
    EXPECT_STREQ(e.what(), text);
  }
  ValueError unnamed("no dtype has code 2");
  unnamed.set_called("full");
  EXPECT_STREQ(unnamed.what(), "full: no dtype has code 2");
}

TEST(Error, LackOfMemoryBecomesAnError) {
  const auto thrown = [](auto fault) {
    try {
      try {
        throw fault;
      } catch (...) {
        core::rethrow_called("randn");
      }
    } catch (const OutOfMemoryError& e) {
      return std::string(e.what());
    }
  };
  EXPECT_EQ(thrown(std::bad_alloc()), "randn: out of memory");
  EXPECT_EQ(thrown(std::length_error("x")), "randn: out of memory");
  EXPECT_THROW(
      try { throw 5; } catch (...) { core::rethrow_called("randn"); }, int);
}

TEST(Error, MessagesAreJoinedFromAnything) {
  int64_t sizes[] = {2, 3};
  EXPECT_EQ(core::join("a", 1, ' ', 2.5, ' ', 0.1f, ' ', true, ' ', IntArrayRef(sizes), ' ',
                       std::string("s"), -3l),
            "a1 2.5 0.1 true [2, 3] s-3");
}
