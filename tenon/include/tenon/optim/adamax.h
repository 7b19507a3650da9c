// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/adam_base.h"

namespace tenon {
namespace optim {

struct TENON_API AdamaxOptions : public detail::AdamOptionsBase<AdamaxOptions> {
  AdamaxOptions(double lr = 2e-3);
};

struct TENON_API AdamaxParamState : public OptimizerCloneableParamState<AdamaxParamState> {
  // Steps done.
  TENON_ARG(int64_t, step) = 0;
  // Running mean of gradients.
  TENON_ARG(Tensor, exp_avg);
  // Running maximum of their size.
  TENON_ARG(Tensor, exp_inf);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Adam with the infinity norm: Kingma and Ba, 2014, section 7.
class TENON_API Adamax : public SerialOptimizer<AdamaxOptions, AdamaxParamState> {
 public:
  using SerialOptimizer::SerialOptimizer;

 protected:
  void init_state(AdamaxParamState& state, const Tensor& param,
                  const AdamaxOptions& options) const override;
  void update_param(Tensor& param, const Tensor& grad, AdamaxParamState& state,
                    const AdamaxOptions& options) const override;
};

}  // namespace optim
}  // namespace tenon
