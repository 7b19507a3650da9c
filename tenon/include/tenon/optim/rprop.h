// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API RpropOptions : public OptimizerCloneableOptions<RpropOptions> {
  RpropOptions(double lr = 1e-2);
  // Learning rate.
  TENON_ARG(double, lr) = 1e-2;
  using etas_t = std::tuple<double, double>;
  // Factors of a step whose gradient changed sign, and of one whose did not.
  TENON_ARG(etas_t, etas) = std::make_tuple(0.5, 1.2);
  using step_sizes_t = std::tuple<double, double>;
  // Smallest and largest step.
  TENON_ARG(step_sizes_t, step_sizes) = std::make_tuple(1e-6, 50);

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

struct TENON_API RpropParamState : public OptimizerCloneableParamState<RpropParamState> {
  // Steps done.
  TENON_ARG(int64_t, step) = 0;
  // The last gradient.
  TENON_ARG(Tensor, prev);
  // The step of each element.
  TENON_ARG(Tensor, step_size);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Riedmiller and Braun, 1993: only the signs of gradients count.
class TENON_API Rprop : public SerialOptimizer<RpropOptions, RpropParamState> {
 public:
  using SerialOptimizer::SerialOptimizer;

 protected:
  void init_state(RpropParamState& state, const Tensor& param,
                  const RpropOptions& options) const override;
  void update_param(Tensor& param, const Tensor& grad, RpropParamState& state,
                    const RpropOptions& options) const override;
};

}  // namespace optim
}  // namespace tenon
