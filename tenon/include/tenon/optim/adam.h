// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
  AdamOptions(double lr = 1e-3);
  // Learning rate.
  TENON_ARG(double, lr) = 1e-3;
  using betas_t = std::tuple<double, double>;
  // Decay of the running mean of gradients and of their squares.
  TENON_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  // Keeps the divisor away from zero.
  TENON_ARG(double, eps) = 1e-8;
  // This times the parameter is added to the gradient.
  TENON_ARG(double, weight_decay) = 0;
  // Divides by the largest mean of squares so far.
  TENON_ARG(bool, amsgrad) = false;
  // The device counts the steps, so that a step captured in a graph counts in its replays. Its
  // learning rate is that of the capture.
  TENON_ARG(bool, capturable) = false;

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

struct TENON_API AdamParamState : public OptimizerCloneableParamState<AdamParamState> {
  // Steps done; state_step counts instead if it is defined.
  TENON_ARG(int64_t, step) = 0;
  // With capturable: one int64 on the parameter's device.
  TENON_ARG(Tensor, state_step);
  // Running mean of gradients.
  TENON_ARG(Tensor, exp_avg);
  // Running mean of their squares.
  TENON_ARG(Tensor, exp_avg_sq);
  // Largest of those so far; with amsgrad.
  TENON_ARG(Tensor, max_exp_avg_sq);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Kingma and Ba, 2014; amsgrad is of Reddi and others, 2018.
class TENON_API Adam : public Optimizer {
 public:
  explicit Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults = {});
  explicit Adam(std::vector<Tensor> params, AdamOptions defaults = {});

 protected:
  void update_all(ArrayRef<Item> items, const OptimizerOptions& options) override;
  std::unique_ptr<OptimizerParamState> new_state() const override;
};

}  // namespace optim
}  // namespace tenon
