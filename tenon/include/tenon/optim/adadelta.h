// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API AdadeltaOptions : public OptimizerCloneableOptions<AdadeltaOptions> {
  AdadeltaOptions(double lr = 1.0);
  // Learning rate.
  TENON_ARG(double, lr) = 1.0;
  // Decay of both running means.
  TENON_ARG(double, rho) = 0.9;
  // Keeps the divisor away from zero.
  TENON_ARG(double, eps) = 1e-6;
  // This times the parameter is added to the gradient.
  TENON_ARG(double, weight_decay) = 0;

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

struct TENON_API AdadeltaParamState : public OptimizerCloneableParamState<AdadeltaParamState> {
  // Steps done.
  TENON_ARG(int64_t, step) = 0;
  // Running mean of squared gradients.
  TENON_ARG(Tensor, square_avg);
  // Running mean of squared steps.
  TENON_ARG(Tensor, acc_delta);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Zeiler, 2012.
class TENON_API Adadelta : public Optimizer {
 public:
  explicit Adadelta(const std::vector<OptimizerParamGroup>& param_groups,
                    AdadeltaOptions defaults = {});
  explicit Adadelta(std::vector<Tensor> params, AdadeltaOptions defaults = {});

 protected:
  void update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
              std::unique_ptr<OptimizerParamState>& state) override;
  std::unique_ptr<OptimizerParamState> new_state() const override;
};

}  // namespace optim
}  // namespace tenon
