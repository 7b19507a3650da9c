// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Nests that run together: assignments where sums are finished, groups over the same rows; and
// panels, which each task copies. Sizes around the ends of vectors, tiles and blocks, several
// threads; operators in float64 say what is right.
#include <gtest/gtest.h>
#include <tenon/ops/loop_program.gen.h>
#include <tenon/parallel.h>
#include <tenon/tenon.h>

#include "tests/loop_program/samples.h"

namespace {

using tenon::Tensor;

class PluginLlvmFusion : public testing::Test {
 protected:
  void SetUp() override { tenon::manual_seed(7); }
  void TearDown() override { tenon::set_num_threads(threads_); }

 private:
  int threads_ = tenon::get_num_threads();
};

Tensor wide(const Tensor& t) { return t.to(tenon::kDouble); }

double error(const Tensor& a, const Tensor& b) { return (wide(a) - b).abs().max().item<double>(); }

samples::Sample sample(const char* name) {
  return samples::read(std::string(TENON_LOOP_PROGRAMS) + "/" + name + ".loops");
}

TEST_F(PluginLlvmFusion, LinearReluOfAllSizes) {
  const std::string text = sample("linear_relu").text;
  for (const int threads : {1, 3})
    for (const int64_t rows : {1, 5, 61})
      for (const int64_t columns : {1, 16, 67, 200})
        for (const int64_t terms : {1, 40, 1100}) {
          tenon::set_num_threads(threads);
          const Tensor x = tenon::randn({rows, terms}), w = tenon::randn({columns, terms}),
                       b = tenon::randn({columns});
          const Tensor expected = tenon::relu(wide(x).mm(wide(w).t()) + wide(b));
          for (const Tensor& weight : {w, w.t().contiguous().t()})
            EXPECT_LT(error(tenon::_loop_program({x, weight, b}, text).at(0), expected), 3e-4)
                << rows << " " << columns << " " << terms << ", " << threads << " threads";
        }
}

TEST_F(PluginLlvmFusion, PanelsOfBatches) {
  const std::string text =
      "loops 1\nsize B\nsize N\nsize M\nsize K\ninput a float32 [B, N, K]\n"
      "input b float32 [B, M, K]\noutput c float32 [B, N, M]\n"
      "for g < B, i < N, j < M, k < K\n%0 = read a [g, i, k]\n%1 = read b [g, j, k]\n"
      "%2 = mul %0 %1\nc [g, i, j] +=! %2\n";
  for (const int threads : {1, 4})
    for (const int64_t m : {20, 64, 150}) {
      tenon::set_num_threads(threads);
      const Tensor a = tenon::randn({5, 43, 70}), b = tenon::randn({5, m, 70});
      const Tensor strided = tenon::randn({70, 5, 2 * m}).permute({1, 2, 0}).slice(1, 0, 2 * m, 2);
      for (const Tensor& it : {b, strided}) {
        const Tensor expected = wide(a).bmm(wide(it).transpose(1, 2));
        EXPECT_LT(error(tenon::_loop_program({a, it}, text).at(0), expected), 1e-4)
            << m << ", " << threads << " threads";
      }
    }
}

TEST_F(PluginLlvmFusion, PanelsHaveTheSameBitsOnAllThreads) {
  const std::string text = sample("linear_relu").text;
  const Tensor x = tenon::randn({301, 130}), w = tenon::randn({290, 130}), b = tenon::randn({290});
  tenon::set_num_threads(1);
  const Tensor expected = tenon::_loop_program({x, w, b}, text).at(0);
  for (int i = 0; i < 50; ++i) {
    tenon::set_num_threads(2 + i % 3);
    EXPECT_TRUE(tenon::equal(tenon::_loop_program({x, w, b}, text).at(0), expected)) << i;
  }
}

TEST_F(PluginLlvmFusion, RowsOfSoftmax) {
  const std::string text = sample("softmax").text;
  for (const int threads : {1, 3})
    for (const int64_t rows : {1, 2, 3, 7, 64, 203})
      for (const int64_t columns : {255, 256, 300, 1024, 1037}) {
        tenon::set_num_threads(threads);
        const Tensor x = tenon::randn({rows, columns}) * 3;
        for (const Tensor& it : {x, x.t().contiguous().t()})
          EXPECT_LT(error(tenon::_loop_program({it}, text).at(0), wide(x).softmax(1)), 1e-6)
              << rows << " " << columns << ", " << threads << " threads";
      }
}

TEST_F(PluginLlvmFusion, RowsOfLayerNorm) {
  const std::string text = sample("layer_norm").text;
  for (const int threads : {1, 3})
    for (const int64_t rows : {1, 6, 93})
      for (const int64_t columns : {256, 769}) {
        tenon::set_num_threads(threads);
        const Tensor x = tenon::randn({rows, columns}), w = tenon::randn({columns}),
                     b = tenon::randn({columns});
        const Tensor expected = tenon::layer_norm(wide(x), {columns}, wide(w), wide(b), 1e-5);
        EXPECT_LT(error(tenon::_loop_program({x, w, b}, text).at(0), expected), 2e-5)
            << rows << " " << columns << ", " << threads << " threads";
      }
}

// The error of the first nest that has one, as if they ran one after the other.
TEST_F(PluginLlvmFusion, ErrorsInRowsAreReported) {
  const std::string text =
      "loops 1\nsize N\nsize M\nsize V\ninput t float32 [V]\ninput at int64 [N, M]\n"
      "temp e float32 [N, M]\noutput y float32 [N]\nfor i < N, j < M\n%0 = read at [i, j]\n"
      "%1 = read t [check %0]\n%2 = exp %1\ne [i, j] = %2\nfor i < N, j < M\n%0 = read e [i, j]\n"
      "y [i] +=! %0\n";
  const Tensor t = tenon::randn({50}), at = tenon::randint(50, {40, 300}, tenon::kLong);
  const Tensor expected = wide(t).exp().index_select(0, at.view({-1})).view({40, 300}).sum(1);
  EXPECT_LT(error(tenon::_loop_program({t, at}, text).at(0), expected), 1e-2);
  at.index_put_({tenon::tensor(std::vector<int64_t>{33}), tenon::tensor(std::vector<int64_t>{7})},
                tenon::tensor(std::vector<int64_t>{50}));
  EXPECT_THROW(tenon::_loop_program({t, at}, text), tenon::IndexError);
}

// A nest whose result is read at another point, or before it is stored, stays on its own.
TEST_F(PluginLlvmFusion, WhatReadsOtherPointsWaits) {
  const std::string head =
      "loops 1\nsize N\nsize M\nsize K\ninput a float32 [N, K]\ninput b float32 [K, M]\n"
      "temp t float32 [N, M]\noutput y float32 [N, M]\nfor i < N, j < M, k < K\n"
      "%0 = read a [i, k]\n%1 = read b [k, j]\n%2 = mul %0 %1\nt [i, j] +=! %2\n";
  const Tensor a = tenon::randn({33, 20}), b = tenon::randn({20, 290});
  const Tensor t = wide(a).mm(wide(b));
  EXPECT_LT(
      error(tenon::_loop_program({a, b}, head + "for i < N, j < M\n%0 = read t [i, -j + M - 1]\n"
                                                "%1 = read t [-i + N - 1, j]\n%2 = add %0 %1\n"
                                                "y [i, j] = %2\n")
                .at(0),
            t.flip({1}) + t.flip({0})),
      1e-4);
  const Tensor square = tenon::randn({20, 33}), s = wide(a).mm(wide(square));
  EXPECT_LT(error(tenon::_loop_program({a, square}, head + "for i < N, j < M\n%0 = read t [i, j]\n"
                                                           "%1 = read t [j, i]\n%2 = sub %0 %1\n"
                                                           "y [i, j] = %2\n")
                      .at(0),
                  s - s.t()),
            1e-4);
}

}  // namespace
