// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/adam_base.h"

namespace tenon {
namespace optim {

struct TENON_API RAdamOptions : public detail::AdamOptionsBase<RAdamOptions> {
  RAdamOptions(double lr = 1e-3);
};

struct TENON_API RAdamParamState : public OptimizerCloneableParamState<RAdamParamState> {
  // Steps done.
  TENON_ARG(int64_t, step) = 0;
  // Running mean of gradients.
  TENON_ARG(Tensor, exp_avg);
  // Running mean of their squares.
  TENON_ARG(Tensor, exp_avg_sq);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Rectified Adam: Liu and others, 2019.
class TENON_API RAdam : public SerialOptimizer<RAdamOptions, RAdamParamState> {
 public:
  using SerialOptimizer::SerialOptimizer;

 protected:
  void init_state(RAdamParamState& state, const Tensor& param,
                  const RAdamOptions& options) const override;
  void update_param(Tensor& param, const Tensor& grad, RAdamParamState& state,
                    const RAdamOptions& options) const override;
};

}  // namespace optim
}  // namespace tenon
