// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the plugin's kernels must hold beside the programs of tests/loop_program: that they serve,
// the bits of chains, the ends of tiles, threads.
#include <gtest/gtest.h>
#include <tenon/core/dispatch.h>
#include <tenon/ops/loop_program.gen.h>
#include <tenon/tenon.h>

#include <thread>

#include "tests/loop_program/samples.h"

namespace {

using tenon::Tensor;

Tensor one(const std::vector<Tensor>& inputs, const std::string& text) {
  return tenon::_loop_program(inputs, text).at(0);
}

std::string product(bool transposed) {
  return std::string("loops 1\nsize N\nsize K\nsize M\ninput a float32 [N, K]\ninput b float32 ") +
         (transposed ? "[M, K]" : "[K, M]") +
         "\noutput c float32 [N, M]\nfor i < N, j < M, k < K\n%0 = read a [i, k]\n%1 = read b " +
         (transposed ? "[j, k]" : "[k, j]") + "\n%2 = mul %0 %1\nc [i, j] +=! %2\n";
}

std::string chain(const std::string& operation) {
  return "loops 1\nsize N\nsize M\ninput x float32 [N, M]\ninput b float32 [M]\n"
         "output y float32 [N, M]\nfor i < N, j < M\n%0 = read x [i, j]\n%1 = read b [j]\n"
         "%2 = mul %0 %1\n%3 = " +
         operation + " %2\n%4 = add %3 %1\ny [i, j] = %4\n";
}

TEST(PluginLlvm, ServesEveryProgram) {
  tenon::manual_seed(3);
  int n = 0;
  for (const samples::Sample& s : samples::read_all(TENON_LOOP_PROGRAMS)) {
    tenon::core::reset_fallback_counts();
    tenon::_loop_program(samples::inputs(s), s.text, samples::numbers(s), samples::reals(s));
    for (const tenon::core::FallbackCount& c : tenon::core::fallback_counts())
      EXPECT_TRUE(s.name == "empty" || c.op != "_loop_program_") << s.name << ": " << c.reason;
    ++n;
  }
  EXPECT_GE(n, 17);
}

TEST(PluginLlvm, ChainsHaveTheBitsOfTheirOperators) {
  tenon::manual_seed(1);
  const Tensor x = tenon::randn({37, 1031}) * 3, b = tenon::randn({1031});
  const auto same = [&](const char* name, auto f) {
    EXPECT_TRUE(tenon::allclose(one({x, b}, chain(name)), f(x * b) + b, 0, 0, true)) << name;
  };
  same("exp", [](const Tensor& t) { return t.exp(); });
  same("log", [](const Tensor& t) { return t.log(); });
  same("tanh", [](const Tensor& t) { return t.tanh(); });
  same("sigmoid", [](const Tensor& t) { return t.sigmoid(); });
  same("erf", [](const Tensor& t) { return t.erf(); });
  same("erfc", [](const Tensor& t) { return t.erfc(); });
  same("sin", [](const Tensor& t) { return t.sin(); });
  same("log1p", [](const Tensor& t) { return t.log1p(); });
  same("sinh", [](const Tensor& t) { return t.sinh(); });
  same("asinh", [](const Tensor& t) { return t.asinh(); });
  same("lgamma", [](const Tensor& t) { return t.lgamma(); });
  same("rsqrt", [](const Tensor& t) { return t.rsqrt(); });
  same("round", [](const Tensor& t) { return t.round(); });
}

TEST(PluginLlvm, ProductsOfAllSizesAroundTheirTiles) {
  tenon::manual_seed(2);
  for (const int64_t n : {1, 2, 3, 5, 8, 9})
    for (const int64_t m : {1, 7, 16, 31, 33, 64, 131})
      for (const int64_t k : {1, 15, 17, 1030}) {
        const Tensor a = tenon::randn({n, k}), b = tenon::randn({k, m});
        const Tensor expected = a.to(tenon::kDouble).mm(b.to(tenon::kDouble));
        for (const bool transposed : {false, true}) {
          const Tensor c = one({a, transposed ? b.t().contiguous() : b}, product(transposed));
          EXPECT_LT((c.to(tenon::kDouble) - expected).abs().max().item<double>(), 2e-4)
              << n << " " << m << " " << k << " " << transposed;
        }
        EXPECT_LT((one({a, b.t().contiguous().t()}, product(false)).to(tenon::kDouble) - expected)
                      .abs()
                      .max()
                      .item<double>(),
                  2e-4);
      }
}

TEST(PluginLlvm, LongSumsAreFlushedToDouble) {
  const Tensor a = tenon::full({1, 1 << 20}, 0.1f), b = tenon::full({1 << 20, 1}, 0.1f);
  const double term = static_cast<double>(0.1f) * static_cast<double>(0.1f);
  EXPECT_NEAR(one({a, b}, product(false)).item<double>(), term * (1 << 20), 0.02);
}

TEST(PluginLlvm, ThreadsCompileAtOnce) {
  const Tensor x = tenon::randn({64, 100}), b = tenon::randn({100});
  std::vector<std::thread> threads;
  threads.reserve(8);
  std::vector<int> good(8, 0);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const std::string name = t % 2 ? "atan" : "cosh";
      const Tensor y = one({x, b}, chain(name));
      const Tensor e = (t % 2 ? (x * b).atan() : (x * b).cosh()) + b;
      good[static_cast<std::size_t>(t)] = tenon::allclose(y, e, 1e-6, 1e-6) ? 1 : 0;
    });
  for (std::thread& it : threads) it.join();
  for (const int it : good) EXPECT_EQ(it, 1);
}

}  // namespace
