// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2);
  // Learning rate.
  TENON_ARG(double, lr) = 1e-2;
  // Decay of the running mean of squares.
  TENON_ARG(double, alpha) = 0.99;
  // Keeps the divisor away from zero.
  TENON_ARG(double, eps) = 1e-8;
  // This times the parameter is added to the gradient.
  TENON_ARG(double, weight_decay) = 0;
  // Momentum factor.
  TENON_ARG(double, momentum) = 0;
  // Divides by the deviation instead of the root mean square.
  TENON_ARG(bool, centered) = false;

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

struct TENON_API RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
  // Steps done.
  TENON_ARG(int64_t, step) = 0;
  // Running mean of squared gradients.
  TENON_ARG(Tensor, square_avg);
  // Running sum of steps; with a momentum.
  TENON_ARG(Tensor, momentum_buffer);
  // Running mean of gradients; with centered.
  TENON_ARG(Tensor, grad_avg);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Hinton, lecture 6e; centered is of Graves, 2013.
class TENON_API RMSprop : public Optimizer {
 public:
  explicit RMSprop(const std::vector<OptimizerParamGroup>& param_groups,
                   RMSpropOptions defaults = {});
  explicit RMSprop(std::vector<Tensor> params, RMSpropOptions defaults = {});

 protected:
  void update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
              std::unique_ptr<OptimizerParamState>& state) override;
  std::unique_ptr<OptimizerParamState> new_state() const override;
};

}  // namespace optim
}  // namespace tenon
