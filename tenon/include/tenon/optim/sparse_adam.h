// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API SparseAdamOptions : public OptimizerCloneableOptions<SparseAdamOptions> {
  SparseAdamOptions(double lr = 1e-3);
  // Learning rate.
  TENON_ARG(double, lr) = 1e-3;
  using betas_t = std::tuple<double, double>;
  // Decay of the running mean of gradients and of their squares.
  TENON_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  // Keeps the divisor away from zero.
  TENON_ARG(double, eps) = 1e-8;

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

struct TENON_API SparseAdamParamState : public OptimizerCloneableParamState<SparseAdamParamState> {
  // Steps done.
  TENON_ARG(int64_t, step) = 0;
  // Running mean of gradients.
  TENON_ARG(Tensor, exp_avg);
  // Running mean of their squares.
  TENON_ARG(Tensor, exp_avg_sq);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Adam for strided parameters with sparse gradients: the means and the parameter change where the
// gradient has elements, and a step costs as much as those.
class TENON_API SparseAdam : public Optimizer {
 public:
  explicit SparseAdam(const std::vector<OptimizerParamGroup>& param_groups,
                      SparseAdamOptions defaults = {});
  explicit SparseAdam(std::vector<Tensor> params, SparseAdamOptions defaults = {});

 protected:
  void update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
              std::unique_ptr<OptimizerParamState>& state) override;
  std::unique_ptr<OptimizerParamState> new_state() const override;
  bool takes_layouts() const override { return true; }
};

}  // namespace optim
}  // namespace tenon
