// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A whole training step in one graph, on whichever device `cuda` is.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "tenon/graph.h"
#include "tenon/tenon.h"

namespace tenon::test {

inline Tensor of_relu(const Tensor& product) { return product.relu(); }

// How a weight is updated from its gradient.
using Update = std::function<void()>;
inline Update by_descent(const Tensor& weight) {
  return [weight] {
    NoGradGuard none;
    weight.sub_(weight.grad() * 0.1);
  };
}
// Its correction of the moments' bias depends on how many steps there were.
inline Update by_adam(const Tensor& weight) {
  auto adam = std::make_shared<optim::Adam>(std::vector<Tensor>{weight},
                                            optim::AdamOptions(0.01).capturable(true));
  return [adam] { adam->step(); };
}

// Each replay takes the step that an eager call would: the weights of twenty are compared.
// `predict` is given 32 inputs times the weight.
inline void replay_a_step_of_training(const std::function<Tensor(const Tensor&)>& predict = of_relu,
                                      Update (*make)(const Tensor&) = by_descent) {
  const auto start = [] {
    manual_seed(3);
    return (randn({20, 4}) * 0.1).to(kCUDA).requires_grad_();
  };
  Tensor w = start(), eager = start();
  const Update update = make(w), update_eager = make(eager);
  const Tensor x = randn({32, 20}).to(kCUDA), y = randn({32, 4}).to(kCUDA);
  const auto step = [&](Tensor& weight) {
    weight.mutable_grad() = Tensor();
    const Tensor loss = nn::functional::mse_loss(predict(mm(x, weight)), y);
    loss.backward();
    (weight.is_same(w) ? update : update_eager)();
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
