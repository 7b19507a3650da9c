// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What Adam has in common with its relatives.
#pragma once

#include <tuple>

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {
namespace detail {

// The options of Adam, AdamW, Adamax and RAdam.
template <class Options>
struct TENON_API AdamOptionsBase : public OptimizerCloneableOptions<Options> {
  AdamOptionsBase(double lr, double weight_decay) : lr_(lr), weight_decay_(weight_decay) {}
  // Learning rate.
  TENON_ARG_OF(Options, double, lr);
  using betas_t = std::tuple<double, double>;
  // Decay of the running mean of gradients and of their squares.
  TENON_ARG_OF(Options, betas_t, betas) = std::make_tuple(0.9, 0.999);
  // Keeps the divisor away from zero.
  TENON_ARG_OF(Options, double, eps) = 1e-8;
  // This times the parameter is added to the gradient. Of AdamW: the parameter shrinks by lr times
  // this, apart from the gradient.
  TENON_ARG_OF(Options, double, weight_decay);

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

// Those that Adam and AdamW have besides.
template <class Options>
struct TENON_API FusedAdamOptions : public AdamOptionsBase<Options> {
  using AdamOptionsBase<Options>::AdamOptionsBase;
  // Divides by the largest mean of squares so far.
  TENON_ARG_OF(Options, bool, amsgrad) = false;
  // The device counts the steps, so that a step captured in a graph counts in its replays. Its
  // learning rate is that of the capture.
  TENON_ARG_OF(Options, bool, capturable) = false;

 public:
  void fields(FieldVisitor& visitor) override;
};

template <class ParamState>
struct TENON_API FusedAdamParamState : public OptimizerCloneableParamState<ParamState> {
  // Steps done; state_step counts instead if it is defined.
  TENON_ARG_OF(ParamState, int64_t, step) = 0;
  // With capturable: one int64 on the parameter's device.
  TENON_ARG_OF(ParamState, Tensor, state_step);
  // Running mean of gradients.
  TENON_ARG_OF(ParamState, Tensor, exp_avg);
  // Running mean of their squares.
  TENON_ARG_OF(ParamState, Tensor, exp_avg_sq);
  // Largest of those so far; with amsgrad.
  TENON_ARG_OF(ParamState, Tensor, max_exp_avg_sq);

 public:
  void fields(FieldVisitor& visitor) override;
};

// The step of Adam and AdamW: one operator for all parameters of a dtype and device.
template <class Options, class ParamState>
class TENON_API FusedAdam : public OptimizerOf<Options, ParamState> {
 public:
  using OptimizerOf<Options, ParamState>::OptimizerOf;

 protected:
  void update_all(ArrayRef<Optimizer::Item> items, const OptimizerOptions& options) override;
};

}  // namespace detail
}  // namespace optim
}  // namespace tenon
