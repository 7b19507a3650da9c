// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API AdamaxOptions : public OptimizerCloneableOptions<AdamaxOptions> {
  AdamaxOptions(double lr = 2e-3);
  // Learning rate.
  TENON_ARG(double, lr) = 2e-3;
  using betas_t = std::tuple<double, double>;
  // Decay of the running mean of gradients and of their squares.
  TENON_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  // Keeps the divisor away from zero.
  TENON_ARG(double, eps) = 1e-8;
  // This times the parameter is added to the gradient.
  TENON_ARG(double, weight_decay) = 0;

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
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
class TENON_API Adamax : public Optimizer {
 public:
  explicit Adamax(const std::vector<OptimizerParamGroup>& param_groups,
                  AdamaxOptions defaults = {});
  explicit Adamax(std::vector<Tensor> params, AdamaxOptions defaults = {});

 protected:
  void update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
              std::unique_ptr<OptimizerParamState>& state) override;
  std::unique_ptr<OptimizerParamState> new_state() const override;
};

}  // namespace optim
}  // namespace tenon
