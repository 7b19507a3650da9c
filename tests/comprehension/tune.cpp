// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The search for schedules: what it keeps, what it ignores, how it ends.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/jit/comprehension.h"
#include "tenon/runtime/log.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon {
namespace {

constexpr const char* kFcrelu = R"(
  def fcrelu(float(B, M) I, float(N, M) W, float(N) b) -> (O) {
    O(i, n) +=! I(i, m) * W(n, m)
    O(i, n) = fmax(O(i, n) + b(n), 0)
  })";
constexpr const char* kRelu =
    "def relu(float(B, C, H, W) x) -> (y) { y(b, c, h, w) = fmax(x(b, c, h, w), 0) }";

std::vector<std::string>& logged() {
  static std::vector<std::string> lines;
  return lines;
}

bool was_logged(const std::string& part) {
  for (const std::string& it : logged())
    if (it.find(part) != std::string::npos) return true;
  return false;
}

class Tune : public testing::Test {
 protected:
  Tune()
      : before_(core::set_log_handler(
            [](int, std::string_view text) { logged().emplace_back(text); })) {
    logged().clear();
    mkdtemp(folder_.data());
    options_.cache = folder_ + "/schedules.json";
    options_.generations = 1;
    options_.population = 6;
    manual_seed(1);
  }
  ~Tune() override {
    core::set_log_handler(before_);
    std::filesystem::remove_all(folder_);
  }

  std::string kept() const {
    std::stringstream text;
    text << std::ifstream(options_.cache).rdbuf();
    return text.str();
  }

  std::string folder_ = testing::TempDir() + "/tenon_tune_XXXXXX";
  tc::TuneOptions options_;
  core::LogHandler before_;
};

TEST_F(Tune, Sample47TunedKeptAndRight) {
  const Tensor x = randn({100, 128}), w = randn({100, 128}), b = randn({100});
  const Tensor expected = relu(x.mm(w.t()) + b);
  const tc::Function f = tc::define(kFcrelu);
  const tc::Tuned first = f.tune({x, w, b}, options_);
  EXPECT_GT(first.measured, 1);
  EXPECT_LE(first.best, first.untuned);
  EXPECT_TRUE(allclose(f(x, w, b), expected, 1e-4, 1e-4));
  const tc::Tuned second = tc::define(kFcrelu).tune({x, w, b}, options_);
  EXPECT_EQ(second.measured, 0);
  EXPECT_EQ(second.schedule, first.schedule);
}

TEST_F(Tune, Sample50SizesInSequenceAreAllKept) {
  const tc::Function f = tc::define(kRelu);
  options_.generations = 0;
  for (const int64_t n : {32, 48, 64})
    EXPECT_EQ(f.tune({{2, 3, n, n}}, kCPU, options_).measured, 1) << n;
  for (const int64_t n : {32, 48, 64})
    EXPECT_EQ(f.tune({{2, 3, n, n}}, kCPU, options_).measured, 0) << n;
  const Tensor strided = randn({2, 3, 48, 48}).transpose(2, 3);
  EXPECT_EQ(f.tune({strided}, options_).measured, 1) << "strides are of the key";
}

TEST_F(Tune, CallsFollowTheScheduleOfTheirShapesAlone) {
  const tc::Function f = tc::define(kFcrelu);
  const Tensor x = randn({8, 12}), w = randn({9, 12}), b = randn({9});
  options_.generations = 0;
  f.tune({x, w, b}, options_);
  std::string text = kept();
  const std::string none = R"("schedules":["",""])";
  ASSERT_NE(text.find(none), std::string::npos) << text;
  text.replace(
      text.find(none), none.size(),
      R"("schedules":["order n_v i_v m_v, vector n_v 2, tile i_v 3, pack W_1","grain 8"])");
  std::ofstream(options_.cache) << text;
  const tc::Function g = tc::define(kFcrelu);
  EXPECT_EQ(g.tune({x, w, b}, options_).measured, 0);
  EXPECT_NE(
      g.str({x, w, b}).find("  schedule order n_v i_v m_v, vector n_v 2, tile i_v 3, pack W_1"),
      std::string::npos)
      << g.str({x, w, b});
  EXPECT_EQ(g.str({randn({7, 12}), w, b}).find("schedule"), std::string::npos);
  EXPECT_TRUE(allclose(g(x, w, b), relu(x.mm(w.t()) + b), 1e-5, 1e-5));
}

TEST_F(Tune, AnEndedSearchKeepsTheBest) {
  const tc::Function f = tc::define(kFcrelu);
  options_.progress = [](const tc::TuneProgress& p) {
    EXPECT_EQ(p.planned, 7);
    EXPECT_LE(p.best, p.last);
    return p.measured < 3;
  };
  const Tensor x = randn({16, 12}), w = randn({20, 12}), b = randn({20});
  const tc::Tuned tuned = f.tune({x, w, b}, options_);
  EXPECT_TRUE(tuned.interrupted);
  EXPECT_EQ(tuned.measured, 3);
  EXPECT_EQ(tc::define(kFcrelu).tune({x, w, b}, options_).measured, 0);
}

TEST_F(Tune, EntriesOfOthersAreIgnoredWithANote) {
  const tc::Function f = tc::define(kRelu);
  options_.generations = 0;
  f.tune({{1, 1, 4, 4}}, kCPU, options_);
  std::string text = kept();
  const std::size_t at = text.find("\"device\":\"") + 10;
  text.replace(at, text.find('"', at) - at, "Other 9000");
  std::ofstream(options_.cache) << text;
  EXPECT_EQ(f.tune({{1, 1, 4, 4}}, kCPU, options_).measured, 1);
  EXPECT_TRUE(was_logged("entry for Other 9000 ignored"));
  EXPECT_NE(kept().find("Other 9000"), std::string::npos) << "others' entries are kept";
}

TEST_F(Tune, ADamagedFileIsIgnoredWithANote) {
  for (const char* text :
       {"{", "[]", R"({"format":2,"entries":[]})", R"({"format":1,"entries":3})", "\xff"}) {
    logged().clear();
    std::ofstream(options_.cache) << text;
    options_.generations = 0;
    EXPECT_EQ(tc::define(kRelu).tune({{1, 1, 4, 4}}, kCPU, options_).measured, 1) << text;
    EXPECT_TRUE(was_logged("ignored")) << text;
    EXPECT_EQ(tc::define(kRelu).tune({{1, 1, 4, 4}}, kCPU, options_).measured, 0) << text;
  }
  std::string text = kept();
  const std::string none = R"("schedules":[""])";
  text.replace(text.find(none), none.size(), R"("schedules":["vector q 4"])");
  std::ofstream(options_.cache) << text;
  EXPECT_EQ(tc::define(kRelu).tune({{1, 1, 4, 4}}, kCPU, options_).measured, 1);
  EXPECT_TRUE(was_logged("no loop has the name 'q'"));
}

TEST_F(Tune, WhatCannotBeTunedIsAnError) {
  const tc::Function f = tc::define(kRelu);
  const auto message = [&](auto call) { return test::text_of<ValueError>(call); };
  EXPECT_EQ(message([&] {
              f.tune({{1, 1, -1, 4}}, kCPU, options_);
            }),
            "tune: autotune needs exact sizes, a size of x is -1");
  EXPECT_EQ(message([&] { f.tune(std::vector<std::vector<int64_t>>{}, kCPU, options_); }),
            "tune: relu takes 1 tensors, given the sizes of 0");
  EXPECT_EQ(message([&] {
              f.tune({{4, 4}}, kCPU, options_);
            }),
            "relu: argument x has 2 dimensions, expected 4");
  options_.population = 0;
  EXPECT_EQ(message([&] {
              f.tune({{1, 1, 4, 4}}, kCPU, options_);
            }),
            "tune: generations is 1 and population 0, expected 0 or more and 1 or more");
  options_.population = 1;
  options_.cache = folder_ + "/no/such/folder.json";
  EXPECT_NE(message([&] {
              f.tune({{1, 1, 4, 4}}, kCPU, options_);
            }).find("cannot be kept in"),
            std::string::npos);
  EXPECT_TRUE(allclose(f(ones({1, 1, 4, 4})), ones({1, 1, 4, 4})));
}

}  // namespace
}  // namespace tenon
