// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2);
  // Learning rate.
  TENON_ARG(double, lr) = 1e-2;
  // The step size at step t is lr / (1 + (t - 1) * lr_decay).
  TENON_ARG(double, lr_decay) = 0;
  // This times the parameter is added to the gradient.
  TENON_ARG(double, weight_decay) = 0;
  // Sum of squares to begin with.
  TENON_ARG(double, initial_accumulator_value) = 0;
  // Keeps the divisor away from zero.
  TENON_ARG(double, eps) = 1e-10;

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

struct TENON_API AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
  // Sum of squared gradients.
  TENON_ARG(Tensor, sum);
  // Steps done.
  TENON_ARG(int64_t, step) = 0;

 public:
  void fields(FieldVisitor& visitor) override;
};

// Duchi and others, 2011. Of a sparse gradient only the rows that it has are read and written.
// Parameters have their states from the start, as in libtorch.
class TENON_API Adagrad : public SerialOptimizer<AdagradOptions, AdagradParamState> {
 public:
  explicit Adagrad(const std::vector<OptimizerParamGroup>& param_groups,
                   AdagradOptions defaults = {});
  explicit Adagrad(std::vector<Tensor> params, AdagradOptions defaults = {});

 protected:
  void init_state(AdagradParamState& state, const Tensor& param,
                  const AdagradOptions& options) const override;
  void update_param(Tensor& param, const Tensor& grad, AdagradParamState& state,
                    const AdagradOptions& options) const override;
  bool takes_layouts() const override { return true; }
};

}  // namespace optim
}  // namespace tenon
