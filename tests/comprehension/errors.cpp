// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the language refuses, with the place, and what calls refuse.
#include <gtest/gtest.h>

#include "tenon/jit/comprehension.h"
#include "tenon/jit/source.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct Bad {
  const char* text;     // of a definition of f
  const char* message;  // a part of it
  const char* place;    // the text that is underlined
};

const Bad bad[] = {
    {"def f(float(N) A) -> (o) { o(i) = A(j) where j in 0:N }",
     "range of i is ambiguous; add a where clause", "o"},
    {"def f(float(N) A) -> (o) { o(i) +=! A(i + j) }",
     "range of i is ambiguous; add a where clause", "o"},
    {"def f(float(N) A) -> (o) { o(i) = 1.0 }", "is ambiguous", "o"},
    {"def f(float(N) A) -> (o) { o(i) = A(i * N) }",
     "dynamic stride: the stride of an index must be a number, not size N", "N"},
    {"def f(float(N) A) -> (o) { o(i, j) = A(i * j) }", "an index times an index is not affine",
     "i * j"},
    {"def f(float(N,M) A) -> (o) { o(i) = A(i, j) }", "index j is only on the right", "o"},
    {"def f(float(N) A) -> (o) { for i in 0:N }", "no loops or branches in the language", "for"},
    {"def f(float(N) A) -> (o) { o(i) = A.view(i) }", "'view' inside a definition is not supported",
     "view"},
    {"def f(float(M,K) A) -> (o) { o(i) = matmul.view.mean }",
     "reshape the tensors before or after the call", "view"},
    {"def f(float(M,K) A) -> (o) { o.reshape(i) = A(i, 0) }", "'reshape' inside a definition",
     "reshape"},
    {"def f(float(2:64) A) -> (o) { o(i) = A(i) }", "sizes are exact, not ranges", ":"},
    {"def f(float(N + 1) A) -> (o) { o(i) = A(i) }", "a size is one name or integer, found '+'",
     "+"},
    {"def f(string(N) A) -> (o) { o(i) = A(i) }", "expected a dtype such as float, found 'string'",
     "string"},
    {"def f(float(N) A) -> (o) { o(i) = B(i) }",
     "B is neither a tensor that has a value here nor a function", "B(i)"},
    {"def f(float(N) A) -> (o) { o(i) = A(i, i) }", "it has 1 dimensions, given 2 indices",
     "A(i, i)"},
    {"def f(float(N) A) -> (o) { o(i) = exp(A(i), 1) }", "exp takes 1 value, given 2",
     "exp(A(i), 1)"},
    {"def f(float(N) A) -> (o) { A(i) = A(i) + 1 }", "A is an argument and cannot be written", "A"},
    {"def f(float(N) A) -> (o, p) { o(i) = A(i) }", "output p is never written", "f"},
    {"def f(float(N) A) -> (A) { }", "output A is an argument", "f"},
    {"def f(float(N) A) -> () { o(i) = A(i) }", "f has no output", "f"},
    {"def f(float(N) A) -> (o, o) { o(i) = A(i) }", "two outputs are named o", "o"},
    {"def f(float(N) A, float(M) A) -> (o) { o(i) = A(i) }", "two arguments are named A", "A"},
    {"def f(float(N) A) -> (o) { o(i, i) = A(i) }", "two indices of o are named i", "i"},
    {"def f(float(N) A) -> (o) { o(i + 1) = A(i) }", "an index on the left is a name alone", "i"},
    {"def f(float(N) A) -> (o) { o(N) = A(N) }", "N is a size or a tensor, and cannot be an index",
     "N"},
    {"def f(float(N) A) -> (o) { o(i) =! A(i) }", "'=!' is not a reduction", "=!"},
    {"def f(float(N) A) -> (o) { o(i) -= A(i) }", "expected =, +=, *=, max= or min=, found '-'",
     "-"},
    {"def f(float(N) A) -> (o) { o(i) = A(A(i)) }", "an index is an integer, not float32", "A(i)"},
    {"def f(float(N) A) -> (o) { o(i) = A(i) where i in 0:A(0) }",
     "the bounds of a range are numbers and sizes", "A(0)"},
    {"def f(float(N) A) -> (o) { o(i) = A(i) where N in 0:3 }", "N is not an index", "N"},
    {"def f(float(N) A) -> (o) { o(i) = A(i) where i in 0:3, i in 0:4 }", "two ranges of i", "i"},
    {"def f(float(N) A) -> (o) { o(i) = A.1 + A(i) }", "A has 1 dimensions", "A.1"},
    {"def f(float(N) A) -> (o) { o(i) = (A(i) }", "expected ')', found '}'", "}"},
    {"def f(float(N) A) -> (o) { o(i) = A(i) $ }", "unexpected character", "$"},
    {"def f(float(N) A) -> (o) { o(i) = 99999999999999999999 }", "an integer beyond 64 bits",
     "99999999999999999999"},
    {"def f(float(N) A) -> (o) { o(i) = ? }", "expected an expression, found '?'", "?"},
    {"", "expected a definition", ""},
    {"def f() -> (o) { o() = 1 } def f() -> (o) { o() = 1 }", "two definitions are named f", "f"},
};

TEST(ComprehensionErrors, ShowThePlace) {
  for (const Bad& it : bad) {
    SCOPED_TRACE(it.text);
    try {
      tc::define(it.text);
      ADD_FAILURE() << "was not refused";
    } catch (const jit::ErrorReport& e) {
      EXPECT_NE(std::string(e.what()).find(it.message), std::string::npos) << e.what();
      EXPECT_EQ(e.where().text(), it.place) << e.what();
    }
  }
}

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(ComprehensionErrors, TheLineHasACaret) {
  EXPECT_EQ(message([] { tc::define("def f(float(N) A) -> (o) {\n  o(i) = A(i * N)\n}"); }),
            "a dynamic stride: the stride of an index must be a number, not size N; give it as a "
            "constant:\n  File \"<string>\", line 2\ndef f(float(N) A) -> (o) {\n"
            "  o(i) = A(i * N)\n               ~ <--- HERE\n}\n");
}

TEST(ComprehensionErrors, DeepTextsAreRefused) {
  const std::string open(100000, '('), minus(100000, '-');
  for (const std::string& text : {open, minus})
    EXPECT_NE(message([&] {
                tc::define("def f(float(N) A) -> (o) { o(i) = " + text);
              }).find("nested more than 200 deep"),
              std::string::npos);
}

TEST(ComprehensionErrors, NamesThatMultiplyAreRefused) {
  std::string many = "x";
  for (int i = 0; i < 99; ++i) many += " * x";
  EXPECT_NE(message([&] {
              tc::define("def f(float(N) A) -> (o) { o(i) = x where x = " + many + " }");
            }).find("x is replaced more than 1000 times in one statement"),
            std::string::npos);
}

TEST(ComprehensionErrors, CallsNameTheArgument) {
  const tc::Function f =
      tc::define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }");
  const Tensor a = ones({2, 3}), b = ones({3, 4});
  EXPECT_EQ(message([&] { f(a, ones({4, 4})); }), "mm: size K is 3 in A but 4 in B");
  EXPECT_EQ(message([&] { f(a); }), "mm: takes 2 tensors, given 1");
  EXPECT_EQ(message([&] { f(a, Tensor()); }), "mm: argument B is undefined");
  EXPECT_EQ(message([&] { f(a, b.to(kDouble)); }), "mm: argument B is float64, expected float32");
  EXPECT_EQ(message([&] { f(a, ones({3})); }), "mm: argument B has 1 dimensions, expected 2");
  EXPECT_EQ(message([&] {
              f.run_into({ones({2, 4})}, {a.clone().requires_grad_(), b});
            }),
            "mm: run_into records no gradient; argument A requires one: call run(), or run_into() "
            "under NoGradGuard");
  EXPECT_EQ(message([&] {
              f.run_into({ones({2, 2})}, {a, b});
            }),
            "mm: output C is float32 [2, 2], expected float32 [2, 4]");
  EXPECT_EQ(message([&] { f.run_into({}, {a, b}); }), "mm: has 1 outputs, given 0");
  EXPECT_EQ(message([&] { tc::define("def f(float(3) A) -> (o) { o(i) = A(i) }")(ones({4})); }),
            "f: size 0 of A is 4, expected 3");
}

TEST(ComprehensionErrors, AccessesOutside) {
  const tc::Function read =
      tc::define("def f(float(N) A) -> (o) { o(i) = A(i + 1) where i in 0:N }");
  EXPECT_NE(message([&] {
              read(ones({4}));
            }).find("a read leaves A: index 0 runs from 1 to 4, its dimension has 4 elements"),
            std::string::npos);
  const tc::Function write =
      tc::define("def f(float(N) A) -> (o) { o(i) = A(i)\n o(i) = 1.0 where i in 0:6 }");
  EXPECT_NE(message([&] { write(ones({4})); }).find("a write leaves o: index 0 runs to 5"),
            std::string::npos);
  EXPECT_EQ(write(ones({6})).size(0), 6);
  const tc::Function gather = tc::define("def f(float(N) A, int64(M) I) -> (o) { o(i) = A(I(i)) }");
  EXPECT_THROW(gather(ones({4}), full({2}, 4, kLong)), IndexError);
  EXPECT_THROW(gather(ones({4}), full({2}, -1, kLong)), IndexError);
}

TEST(ComprehensionErrors, CountsOfDefinitions) {
  const char* two =
      "def f(float(N) A) -> (o) { o(i) = A(i) }\n# both\n"
      "def g(float(N) A) -> (o, p) { o(i) = A(i)\n p(i) = -A(i) }";
  EXPECT_NE(message([&] { tc::define(two); }).find("has 2 definitions"), std::string::npos);
  auto all = tc::define_all(two);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at("g").name(), "g");
  EXPECT_EQ(message([&] { all.at("g")(ones({2})); }), "g: has 2 outputs: call run()");
  EXPECT_TRUE(equal(all.at("g").run({ones({2})})[1], full({2}, -1.0)));
}

}  // namespace
}  // namespace tenon
