// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API ASGDOptions : public OptimizerCloneableOptions<ASGDOptions> {
  ASGDOptions(double lr = 1e-2);
  // Learning rate.
  TENON_ARG(double, lr) = 1e-2;
  // Decay of the parameter.
  TENON_ARG(double, lambd) = 1e-4;
  // Power of the decay of the step size.
  TENON_ARG(double, alpha) = 0.75;
  // Step at which averaging begins.
  TENON_ARG(double, t0) = 1e6;
  // This times the parameter is added to the gradient.
  TENON_ARG(double, weight_decay) = 0;

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

struct TENON_API ASGDParamState : public OptimizerCloneableParamState<ASGDParamState> {
  // Steps done.
  TENON_ARG(int64_t, step) = 0;
  // Step size now.
  TENON_ARG(double, eta) = 0;
  // Weight of the newest parameter in the average.
  TENON_ARG(double, mu) = 1;
  // The average.
  TENON_ARG(Tensor, ax);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Averaged stochastic gradient descent: Polyak and Juditsky, 1992. The average is the state, ax.
class TENON_API ASGD : public SerialOptimizer<ASGDOptions, ASGDParamState> {
 public:
  using SerialOptimizer::SerialOptimizer;

 protected:
  void init_state(ASGDParamState& state, const Tensor& param,
                  const ASGDOptions& options) const override;
  void update_param(Tensor& param, const Tensor& grad, ASGDParamState& state,
                    const ASGDOptions& options) const override;
};

}  // namespace optim
}  // namespace tenon
