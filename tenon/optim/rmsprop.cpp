// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/rmsprop.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

RMSpropOptions::RMSpropOptions(double lr) : lr_(lr) {}

void RMSpropOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("alpha", alpha());
  visitor.field("eps", eps());
  visitor.field("weight_decay", weight_decay());
  visitor.field("momentum", momentum());
  visitor.field("centered", centered());
}

void RMSpropOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(alpha() >= 0, "alpha", alpha());
  TENON_OPTIM_CHECK(eps() >= 0, "eps", eps());
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
  TENON_OPTIM_CHECK(momentum() >= 0, "momentum", momentum());
}

void RMSpropParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("square_avg", square_avg());
  visitor.field("momentum_buffer", momentum_buffer());
  visitor.field("grad_avg", grad_avg());
}

RMSprop::RMSprop(const std::vector<OptimizerParamGroup>& param_groups, RMSpropOptions defaults)
    : Optimizer(param_groups, std::make_unique<RMSpropOptions>(std::move(defaults))) {}

RMSprop::RMSprop(std::vector<Tensor> params, RMSpropOptions defaults)
    : RMSprop(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))},
              std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> RMSprop::new_state() const {
  return std::make_unique<RMSpropParamState>();
}

void RMSprop::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                     std::unique_ptr<OptimizerParamState>& state) {
  const auto& o = static_cast<const RMSpropOptions&>(options);
  if (!state) {
    state = first_state(param);
    auto& s = static_cast<RMSpropParamState&>(*state);
    s.square_avg(tenon::zeros_like(param));
  }
  auto& s = static_cast<RMSpropParamState&>(*state);
  const Tensor g = o.weight_decay() != 0 ? grad.add(param, o.weight_decay()) : grad;
  s.step(s.step() + 1);
  s.square_avg().mul_(o.alpha()).addcmul_(g, g, 1 - o.alpha());
  Tensor divisor;
  if (o.centered()) {
    if (!s.grad_avg().defined()) s.grad_avg(tenon::zeros_like(param));
    s.grad_avg().mul_(o.alpha()).add_(g, 1 - o.alpha());
    divisor = s.square_avg().addcmul(s.grad_avg(), s.grad_avg(), -1).sqrt_().add_(o.eps());
  } else {
    divisor = s.square_avg().sqrt().add_(o.eps());
  }
  if (o.momentum() == 0) {
    param.addcdiv_(g, divisor, -o.lr());
    return;
  }
  if (!s.momentum_buffer().defined()) s.momentum_buffer(tenon::zeros_like(param));
  s.momentum_buffer().mul_(o.momentum()).addcdiv_(g, divisor, 1.0);
  param.add_(s.momentum_buffer(), -o.lr());
}

}  // namespace optim
}  // namespace tenon
