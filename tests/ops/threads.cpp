// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Threads that share weights, each with a graph of its own: the same gradients as alone.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/runtime/threads.h"

using namespace tenon;

namespace {

struct Weights {
  Tensor w = randn({64, 64}).set_requires_grad(true), b = randn({64}).set_requires_grad(true);
};

std::vector<Tensor> gradients(const Weights& s, const Tensor& x) {
  const Tensor y = softmax(relu(linear(x, s.w, s.b)) * s.b, 1);
  return autograd::grad({(y * y).sum()}, {s.w, s.b});
}

}  // namespace

TEST(AutogradThreads, SharedWeightsGiveEachThreadTheGradientsItGetsAlone) {
  const int before = core::num_threads();
  core::set_num_threads(2);
  const Weights shared;
  std::vector<Tensor> inputs;
  std::vector<std::vector<Tensor>> alone;
  for (int t = 0; t < 4; ++t) {
    inputs.push_back(randn({256, 64}));
    alone.push_back(gradients(shared, inputs.back()));
  }
  std::vector<int> same(inputs.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto given = gradients(shared, inputs[t]);
        same[t] += equal(given[0], alone[t][0]) && equal(given[1], alone[t][1]);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  core::set_num_threads(before);
  for (int n : same) EXPECT_EQ(n, 20);
}

TEST(AutogradThreads, OneGraphServesSeveralThreadsWhenItIsKept) {
  const Tensor x = randn({32, 32}).set_requires_grad(true);
  const Tensor y = (x * x).sum();
  std::vector<int> same(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < same.size(); ++t) {
    threads.emplace_back(
        [&, t] { same[t] = equal(autograd::grad({y}, {x}, {}, true)[0], x.detach() * 2); });
  }
  for (std::thread& t : threads) t.join();
  for (int n : same) EXPECT_EQ(n, 1);
}

// The first reader makes the view's new path to its base; all must see the whole of it.
TEST(AutogradThreads, ShareAViewWhoseBaseWasWritten) {
  for (int round = 0; round < 200; ++round) {
    const Tensor x = ones({4}).set_requires_grad(true), base = x * 1, view = base.slice(0, 1, 3, 1);
    base.mul_(3);
    std::vector<int> same(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < same.size(); ++t) {
      threads.emplace_back([&, t] {
        const Tensor g = autograd::grad({(view * 2).sum()}, {x}, {}, true)[0];
        same[t] =
            view.requires_grad() && view.grad_fn() && equal(g, tensor({0., 6., 6., 0.}, kFloat));
      });
    }
    for (std::thread& t : threads) t.join();
    for (int n : same) ASSERT_EQ(n, 1);
  }
}
