// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/error.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/runtime/array_ref.h"

using namespace tenon;

namespace tenon {
class ProgramError : public Error {  // a class that core does not know
 public:
  using Error::Error;
};
}  // namespace tenon

namespace {
struct Point {
  int x, y;
};
std::string text(const Point& p) { return core::join('(', p.x, ", ", p.y, ')'); }
}  // namespace

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

TEST(Error, ShapesOfTheOutermostCallAreSaid) {
  ValueError e("mm: shapes cannot be multiplied");
  e.set_called("matmul", "self [2, 3], other [4]");
  EXPECT_STREQ(e.what(),
               "matmul: in mm: shapes cannot be multiplied; called with self [2, 3], other [4]");
  e.set_called("linear", "input [2, 3]");
  EXPECT_STREQ(e.what(), "linear: in mm: shapes cannot be multiplied; called with input [2, 3]");
  e.set_called("linear");  // by name
  EXPECT_STREQ(e.what(), "linear: in mm: shapes cannot be multiplied; called with input [2, 3]");
  TypeError other("mm: expected float32");
  other.set_called("matmul", "self [2]");
  EXPECT_STREQ(other.what(), "matmul: in mm: expected float32");
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

TEST(Error, HasItsOperatorAsAField) {
  ValueError e("mm: shapes cannot be multiplied");
  EXPECT_EQ(e.op(), "");
  e.set_called("mm");
  EXPECT_EQ(e.op(), "mm");
  e.set_called("linear", "input [2]");
  EXPECT_EQ(e.op(), "linear");
  const OutOfMemoryError lack = [] {
    try {
      try {
        throw std::bad_alloc();
      } catch (...) {
        core::rethrow_called("randn");
      }
    } catch (const OutOfMemoryError& caught) {
      return caught;
    }
  }();
  EXPECT_EQ(lack.op(), "randn");
}

TEST(Error, HasThePlaceThatThrewIt) {
  const auto thrown = [](auto throws) {
    try {
      throws();
    } catch (const Error& e) {
      return e;
    }
    return Error("nothing");
  };
  const auto expect_here = [](const Error& e, int line) {
    EXPECT_STREQ(e.file(), __FILE__);
    EXPECT_EQ(e.line(), line);
  };
  expect_here(thrown([] { throw Error("x"); }), __LINE__);
  expect_here(thrown([] { throw TypeError("x"); }), __LINE__);
  expect_here(thrown([] { TENON_CHECK(1 > 2, IndexError, "x"); }), __LINE__);
  expect_here(thrown([] { TENON_CHECK(1 > 2, ProgramError, "x"); }), __LINE__);
  expect_here(thrown([] { core::throw_error(TN_ERROR_VALUE, "x"); }), __LINE__);
  EXPECT_EQ(thrown([] { core::throw_error(TN_ERROR_VALUE, "x"); }).code(), TN_ERROR_VALUE);
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

TEST(Error, AProgramGivesItsTypesAText) {
  const std::vector<int64_t> sizes = {4, 5};
  EXPECT_EQ(core::join("from ", Point{1, -2}, " to ", Point{3, 4}, " in ", sizes),
            "from (1, -2) to (3, 4) in [4, 5]");
}

TEST(Error, NumbersHaveTheirShortestText) {
  EXPECT_EQ(core::join(std::numeric_limits<int64_t>::min(), ' ', ~uint64_t{0}, ' ', uint8_t{7}, ' ',
                       0.1, ' ', 1.0 / 3, ' ', 1e300, ' ', -0.0, ' ', 3.0),
            "-9223372036854775808 18446744073709551615 7 0.1 0.3333333333333333 1e+300 -0 3");
  EXPECT_EQ(core::join(), "");
}

TEST(Error, AFailedCheckThrowsItsClassWithTheParts) {
  const auto message = [](auto check) {
    try {
      check();
    } catch (const Error& e) {
      return std::to_string(e.code()) + " " + e.what();
    }
    return std::string("nothing");
  };
  const std::string name(40, 'n');
  const std::string code = std::to_string(TN_ERROR_INDEX) + " ";
  EXPECT_EQ(message([&] { TENON_CHECK(false, IndexError, name, ": ", name + "!", " of ", 3); }),
            code + name + ": " + name + "! of 3");
  EXPECT_THROW(TENON_CHECK(false, ValueError, "x"), ValueError);
  EXPECT_THROW(TENON_CHECK(false, ProgramError, Point{1, 2}, name), ProgramError);
  EXPECT_EQ(message([] { TENON_CHECK(true, ValueError, "x"); }), "nothing");
}
