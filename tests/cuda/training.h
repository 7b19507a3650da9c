// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A whole step of training in one graph, on whatever stands behind `cuda`.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tenon/graph.h"
#include "tenon/tenon.h"

namespace tenon::test {

inline Tensor of_relu(const Tensor& product) { return product.relu(); }

// Each replay takes the step that an eager call would: the weights of twenty are compared. `predict` is given 32 inputs
// times the weight.
inline void replay_a_step_of_training(const std::function<Tensor(const Tensor&)>& predict = of_relu) {
  const auto start = [] {
    manual_seed(3);
    return (randn({20, 4}) * 0.1).to(kCUDA).requires_grad_();
  };
  Tensor w = start(), eager = start();
  const Tensor x = randn({32, 20}).to(kCUDA), y = randn({32, 4}).to(kCUDA);
  const auto step = [&](Tensor& weight) {
    weight.mutable_grad() = Tensor();
    const Tensor loss = nn::functional::mse_loss(predict(mm(x, weight)), y);
    loss.backward();
    NoGradGuard none;
    weight.sub_(weight.grad() * 0.1);
    return loss.detach();
  };
  double before = step(w).item<double>();
  (void)step(eager);
  Graph g;
  g.capture_begin();
  const Tensor loss = step(w);
  g.capture_end();
  for (int i = 0; i < 20; ++i) {
    g.replay();
    const double now = loss.item<double>(), same = step(eager).item<double>();
    EXPECT_LT(now, before) << i;
    EXPECT_DOUBLE_EQ(now, same) << i;
    before = now;
  }
  EXPECT_TRUE(equal(w.detach().cpu(), eager.detach().cpu()));
}

}  // namespace tenon::test
