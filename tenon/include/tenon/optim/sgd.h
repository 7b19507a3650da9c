// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr);
  // Learning rate.
  TENON_ARG(double, lr);
  // Momentum factor.
  TENON_ARG(double, momentum) = 0;
  // Dampening of the gradient in the momentum.
  TENON_ARG(double, dampening) = 0;
  // This times the parameter is added to the gradient.
  TENON_ARG(double, weight_decay) = 0;
  // Looks ahead by the momentum; needs one, and no dampening.
  TENON_ARG(bool, nesterov) = false;

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

struct TENON_API SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
  // Running sum of gradients.
  TENON_ARG(Tensor, momentum_buffer);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Stochastic gradient descent, with momentum or without. Gradients may have a layout of their own,
// but not with weight_decay; the momentum then has it, too.
class TENON_API SGD : public Optimizer {
 public:
  explicit SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults);
  explicit SGD(std::vector<Tensor> params, SGDOptions defaults);

 protected:
  void update_all(ArrayRef<Item> items, const OptimizerOptions& options) override;
  std::unique_ptr<OptimizerParamState> new_state() const override;
  bool takes_layouts() const override { return true; }
};

}  // namespace optim
}  // namespace tenon
