// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loop programs: text, what the checker refuses, sizes and bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/sdk/loop_program/bind.h"
#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/parse.h"
#include "tenon/sdk/loop_program/print.h"

namespace lp = tenon::sdk::loop_program;

namespace {

// Every kind of line, in its printed form.
constexpr const char* all_kinds = R"(loops 1
size H
size K
size P = (H - K + 2) / 2
param alpha float64
param seed int64
input x float32 [H]
input w float32 [K]
input at int64 [P]
temp t float32 [P]
output y float16 [P]
output s float32 []
for i < P, k < K
  %0 = read x [2*i + k]
  %1 = read w [-k + K - 1]
  %2 = mul %0 %1
  t [i] +=! %2
  schedule order k i, vector i 2, tile k 3, pack x, pack w, grain 4096
for i < P
  %0 = read t [i]
  %1 = param alpha
  %2 = cast float32 %1
  %3 = const float32 -inf
  %4 = const bool 1
  %5 = select %4 %0 %3
  %6 = lt %5 %2
  %7 = param seed
  %8 = loop i
  %9 = size P
  %10 = philox %7 %9 %8
  %11 = read at [i]
  %12 = read w [clamp %11]
  %13 = read x [check %8]
  %14 = add %12 %13
  %15 = const float32 0.1
  %16 = select %6 %14 %15
  %17 = tanh %16
  %18 = cast float16 %17
  y [i] = %18
  s [] max= %17
  schedule grain 10
)";

std::string message(std::string_view text) {
  try {
    lp::check(lp::parse(text));
  } catch (const lp::Error& e) {
    return e.what();
  }
  return "";
}

std::string in_nest(const std::string& body, const std::string& loops = "i < N") {
  return "loops 1\nsize N\ninput a float32 [N]\ninput b int64 [N]\noutput c float32 [N]\nfor " +
         loops + "\n" + body;
}

TEST(LoopProgram, TextIsPrintedAsItWasParsed) {
  const lp::Program program = lp::parse(all_kinds);
  lp::check(program);
  EXPECT_EQ(lp::print(program), all_kinds);
}

TEST(LoopProgram, SchedulesNameWhatIsThere) {
  const auto said = [](const std::string& schedule) {
    return message(
        "loops 1\nsize N\ninput a float32 [N, N]\noutput c float32 [N, N]\n"
        "for i < N, j < N\n%0 = read a [j, i]\nc [i, j] = %0\nschedule " +
        schedule + "\n");
  };
  EXPECT_EQ(said("order j i, vector i 1, tile j 4, pack a, grain 7"), "");
  const std::pair<const char*, const char*> bad[] = {
      {"vector k 1", "no loop has the name 'k'"},
      {"pack b", "no array has the name 'b'"},
      {"spin i 2", "no part of a schedule has the name 'spin'"},
      {"vector i 0", "the schedule's number of vectors is 0, expected 1 to 16"},
      {"vector i 1, vector j 1", "a second loop along vectors"},
      {"tile i 65", "the schedule's tile is 65, expected 1 to 64"},
      {"vector i 1, tile i 2", "tiles loop i twice or along vectors"},
      {"tile i 2, tile i 2", "tiles loop i twice or along vectors"},
      {"order i", "the schedule's order does not name each loop once"},
      {"order i j j", "the schedule's order names a loop twice"},
      {"grain -1", "the schedule's grain is -1"},
      {"grain 1\nschedule grain 2", "a second schedule of one nest"}};
  for (const auto& [schedule, expected] : bad)
    EXPECT_NE(said(schedule).find(expected), std::string::npos)
        << schedule << " said: " << said(schedule);
}

TEST(LoopProgram, SpacesCommentsAndOrderOfTermsAreFree) {
  const char* loose =
      "# a comment\n\nloops 1 # one\nsize N\n size M\noutput c int64 [M+N]\n"
      "for i<M\n%0 = loop i\nc [ N+1*i+0 ] += %0\n";
  const std::string printed = lp::print(lp::parse(loose));
  EXPECT_NE(printed.find("output c int64 [N + M]\nfor i < M\n  %0 = loop i\n  c [i + N] += %0\n"),
            std::string::npos)
      << printed;
  EXPECT_EQ(lp::print(lp::parse(printed)), printed);
}

TEST(LoopProgram, ConstantsKeepTheirBits) {
  for (double value : {0.1, -0.0, 1e-320, std::numeric_limits<double>::max(), 1.0 / 3}) {
    lp::Program program =
        lp::parse("loops 1\noutput c float64 []\nfor\n%0 = const float64 1\nc [] = %0\n");
    program.nests[0].nodes[0].real = value;
    const lp::Program again = lp::parse(lp::print(program));
    EXPECT_EQ(again.nests[0].nodes[0].real, value);
    EXPECT_EQ(std::signbit(again.nests[0].nodes[0].real), std::signbit(value));
  }
}

TEST(LoopProgram, TextErrorsNameLineAndColumn) {
  EXPECT_EQ(message(""), "loop program: the text is empty");
  EXPECT_NE(message("loops 2\n").find("version 2 of the format; this reader knows 1"),
            std::string::npos);
  EXPECT_EQ(message("loops 1\ninput a float31 [2]\n"),
            "loop program, line 2, column 16: no dtype has the name 'float31'");
  EXPECT_EQ(message(in_nest("%1 = const float32 1\n")),
            "loop program, line 7, column 3: the next node is %0");
  EXPECT_NE(message(in_nest("%0 = frob %0\n")).find("no operation has the name 'frob'"),
            std::string::npos);
  EXPECT_NE(message(in_nest("%0 = exp %0\n")).find("%0 is not a node before this one"),
            std::string::npos);
  EXPECT_NE(message("loops 1\nsize N\ninput a float32 [99999999999999999999*N]\n").find("64 bits"),
            std::string::npos);
  EXPECT_NE(message("loops 1\nsize N\ninput a float32 [9223372036854775807*N + 9*N]\n")
                .find("out of range"),
            std::string::npos);
}

TEST(LoopProgram, TheCheckerRefuses) {
  const std::string read = "%0 = read a [i]\n";
  EXPECT_EQ(message(in_nest(read + "c [i] = %0\n")), "");
  const std::pair<std::string, const char*> wrong[] = {
      {in_nest(read), "nothing is stored"},
      {in_nest(read + "a [i] = %0\n"), "a is an input and cannot be stored"},
      {in_nest(read + "c [i] = %0\nc [i] = %0\n"), "c is stored twice"},
      {in_nest("%0 = read c [i]\nc [i] = %0\n"), "it reads c, which it stores"},
      {in_nest(read + "c [0] = %0\n"), "does not name all loops"},
      {in_nest(read + "c [2*i] = %0\n"), "more than one loop"},
      {in_nest(read + "c [i] =! %0\n"), "no neutral element"},
      {in_nest("%0 = read b [i]\nc [i] = %0\n"), "what c takes is int64, expected float32"},
      {in_nest("%0 = read b [i]\n%1 = exp %0\nc [i] = %1\n"),
       "exp takes floating dtypes, not int64"},
      {in_nest(read + "%1 = read b [i]\n%2 = add %0 %1\nc [i] = %2\n"),
       "the second operand is int64"},
      {in_nest(read + "%1 = bitwise_and %0 %0\nc [i] = %1\n"), "takes integers, not float32"},
      {in_nest(read + "%1 = select %0 %0 %0\nc [i] = %1\n"),
       "the condition is float32, expected bool"},
      {in_nest(read + "%1 = read a [clamp %0]\nc [i] = %1\n"), "an index is of dtype float32"},
      {in_nest("%0 = read a [i, i]\nc [i] = %0\n"), "a has 1 dimensions, given 2 indices"},
      {"loops 1\nsize N\nsize N\n", "two things are named N"},
      {"loops 1\nsize N = (4) / 0\n", "divided by a number below 1"},
      {"loops 1\nparam p int32\n", "parameter p is int64 or float64, not int32"},
  };
  for (const auto& [text, expected] : wrong)
    EXPECT_NE(message(text).find(expected), std::string::npos) << text << "said: " << message(text);
}

TEST(LoopProgram, HandmadeProgramsOutOfRangeAreRefused) {
  lp::Program program = lp::parse(in_nest("%0 = read a [i]\nc [i] = %0\n"));
  auto refused = [](lp::Program p) { EXPECT_THROW(lp::check(p), lp::Error); };
  lp::Program p = program;
  p.nests[0].nodes[0].source = 7;
  refused(p);
  p = program;
  p.nests[0].nodes[0].indices[0].affine.loops[0].first = 3;
  refused(p);
  p = program;
  p.nests[0].stores[0].node = 5;
  refused(p);
  p = program;
  p.sizes[0].name = "for";
  refused(p);
  p = program;
  p.nests[0].nodes[0] = {lp::Kind::kUnary, lp::Dtype::kFloat, 60, -1, {0, -1, -1}, {}, 0, 0};
  refused(p);
}

TEST(LoopProgram, SizesComeFromInputsNumbersAndDefinitions) {
  const lp::Program program = lp::parse(
      "loops 1\nsize N\nsize M\nsize Q = (N - 8) / 3\nparam p int64\nparam r float64\n"
      "input a float32 [N]\noutput c float32 [M, N - 2]\n");
  const lp::Binding bound = lp::bind_sizes(program, {{7}}, {5, 42}, {0.5});
  EXPECT_EQ(bound.sizes, (std::vector<int64_t>{7, 5, -1}));
  EXPECT_EQ(bound.shapes[1], (lp::Shape{5, 5}));
  EXPECT_EQ(bound.whole[0], 42);
  EXPECT_EQ(bound.real[1], 0.5);
  EXPECT_THROW(lp::bind_sizes(program, {{7}}, {5}, {0.5}), lp::Error);
  EXPECT_THROW(lp::bind_sizes(program, {{7}}, {5, 42, 1}, {0.5}), lp::Error);
  EXPECT_THROW(lp::bind_sizes(program, {}, {5, 42}, {0.5}), lp::Error);
  EXPECT_THROW(lp::bind_sizes(program, {{7, 7}}, {5, 42}, {0.5}), lp::Error);
  EXPECT_THROW(lp::bind_sizes(program, {{1}}, {5, 42}, {0.5}), lp::Error);  // N - 2 is negative
  EXPECT_THROW(lp::bind_sizes(program, {{INT64_MAX / 4}}, {INT64_MAX / 4, 42}, {0.5}), lp::Error);
}

TEST(LoopProgram, EveryAccessIsProvenOrRefused) {
  const lp::Program program = lp::parse(all_kinds);
  EXPECT_NO_THROW(lp::bind_sizes(program, {{7}, {3}, {3}}, {1}, {0.5}));  // P = 3, 2*i + k up to 6
  const std::string text = in_nest("%0 = read a [i + 1]\nc [i] = %0\n", "i < N - 1");
  lp::Program shifted = lp::parse(text);
  EXPECT_NO_THROW(lp::bind_sizes(shifted, {{4}, {4}}, {}, {}));
  shifted.nests[0].loops[0].extent.constant = 0;
  try {
    lp::bind_sizes(shifted, {{4}, {4}}, {}, {});
    FAIL();
  } catch (const lp::Error& e) {
    EXPECT_STREQ(
        e.what(),
        "loop program, nest 0: index 0 of a runs from 1 to 4, its dimension has 4 elements");
  }
  EXPECT_NO_THROW(lp::bind_sizes(shifted, {{0}, {0}}, {}, {}));  // nothing runs
}

}  // namespace
