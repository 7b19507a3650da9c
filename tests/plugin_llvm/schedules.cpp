// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A schedule changes no result but by the order of a sum's terms.
#include <gtest/gtest.h>
#include <tenon/core/dispatch.h>
#include <tenon/ops/loop_program.gen.h>
#include <tenon/tenon.h>

#include <random>

#include "tenon/sdk/loop_program/print.h"
#include "tests/loop_program/samples.h"

namespace {

namespace lp = samples::lp;
using tenon::Tensor;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  lp::Schedule schedule(const lp::Nest& nest) {
    lp::Schedule s;
    const int n = static_cast<int>(nest.loops.size());
    if (n == 0) return s;
    s.vector = static_cast<int>(below(n));
    s.vectors = 1 + below(5);
    for (int t = 0; t < 2; ++t) {
      const int l = static_cast<int>(below(n));
      if (l != s.vector && (s.tiles.empty() || s.tiles[0].first != l))
        s.tiles.emplace_back(l, 2 + below(6));
    }
    for (const lp::Node& it : nest.nodes)
      if (it.kind == lp::Kind::kRead && below(2) == 0) s.packed.push_back(it.source);
    if (below(2) == 0) {
      for (int l = 0; l < n; ++l) s.order.push_back(l);
      std::shuffle(s.order.begin(), s.order.end(), random_);
    }
    if (below(2) == 0) s.grain = 1 + below(1000);
    return s;
  }

 private:
  std::mt19937_64 random_;
};

TEST(PluginLlvmSchedules, ProgramsGiveTheSame) {
  tenon::manual_seed(5);
  Draw draw(5);
  for (const samples::Sample& s : samples::read_all(TENON_LOOP_PROGRAMS)) {
    const std::vector<Tensor> inputs = samples::inputs(s);
    const auto run = [&](const std::string& text) {
      return tenon::_loop_program(inputs, text, samples::numbers(s), samples::reals(s));
    };
    const std::vector<Tensor> expected = run(s.text);
    for (int i = 0; i < 4; ++i) {
      lp::Program program = s.program;
      for (lp::Nest& it : program.nests) it.schedule = draw.schedule(it);
      const std::string text = lp::print(program);
      lp::check(program);
      const std::vector<Tensor> given = run(text);
      for (std::size_t k = 0; k < expected.size(); ++k)
        EXPECT_TRUE(samples::agree(given[k], expected[k])) << s.name << ", output " << k << "\n"
                                                           << text;
    }
  }
}

std::string product(const std::string& schedule) {
  return "loops 1\nsize N\nsize K\nsize M\ninput a float32 [N, K]\ninput b float32 [M, K]\n"
         "output c float32 [N, M]\nfor i < N, j < M, k < K\n%0 = read a [i, k]\n%1 = read b [j, k]"
         "\n%2 = mul %0 %1\nc [i, j] +=! %2\nschedule " +
         schedule + "\n";
}

// Tiles, their halves, whole and partial vectors, copies of either operand.
TEST(PluginLlvmSchedules, ProductsOfAllEnds) {
  tenon::manual_seed(6);
  const char* schedules[] = {
      "vector j 3, tile i 5, pack b",   "vector j 2, tile i 6",
      "vector i 4, tile j 3, pack a",   "vector i 1, tile j 7, pack a, pack b",
      "vector k 1, tile i 3, tile j 4", "order k j i, vector j 4, tile i 2, pack b, grain 64"};
  for (const int64_t n : {1, 6, 16, 39})
    for (const int64_t m : {1, 17, 48, 101})
      for (const int64_t k : {1, 33}) {
        const Tensor a = tenon::randn({n, k}), b = tenon::randn({m, k});
        const Tensor expected = a.to(tenon::kDouble).mm(b.to(tenon::kDouble).t());
        for (const char* schedule : schedules) {
          const Tensor c = tenon::_loop_program({a, b}, product(schedule)).at(0);
          EXPECT_LT((c.to(tenon::kDouble) - expected).abs().max().item<double>(), 1e-4)
              << n << " " << m << " " << k << " " << schedule;
        }
      }
}

// What stands in copies is read through values, strides and steps of two as well.
TEST(PluginLlvmSchedules, CopiesOfStridedAndIndirectReads) {
  const std::string text =
      "loops 1\nsize N\nsize M\nsize L\ninput t float32 [N, M]\ninput at int64 [L]\n"
      "output c float32 [M]\nfor l < L, m < M\n%0 = read at [l]\n%1 = read t [check %0, m]\n"
      "c [m] +=! %1\nschedule vector m 2, pack t\n";
  const Tensor wide = tenon::randn({50, 40}), at = tenon::randint(20, {300}, tenon::kLong);
  for (const Tensor& t : {wide.t().slice(1, 0, 40, 2), wide.slice(1, 0, 40, 2).slice(0, 0, 20),
                          wide.t().contiguous().slice(0, 5, 25)}) {
    const Tensor expected = t.index_select(0, at).sum(0);
    EXPECT_TRUE(tenon::allclose(tenon::_loop_program({t, at}, text).at(0), expected, 1e-4, 1e-4));
  }
}

}  // namespace
