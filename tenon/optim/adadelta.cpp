// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/adadelta.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

AdadeltaOptions::AdadeltaOptions(double lr) : lr_(lr) {}

void AdadeltaOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("rho", rho());
  visitor.field("eps", eps());
  visitor.field("weight_decay", weight_decay());
}

void AdadeltaOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(rho() >= 0 && rho() <= 1, "rho", rho());
  TENON_OPTIM_CHECK(eps() >= 0, "eps", eps());
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
}

void AdadeltaParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("square_avg", square_avg());
  visitor.field("acc_delta", acc_delta());
}

Adadelta::Adadelta(const std::vector<OptimizerParamGroup>& param_groups, AdadeltaOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdadeltaOptions>(std::move(defaults))) {}

Adadelta::Adadelta(std::vector<Tensor> params, AdadeltaOptions defaults)
    : Adadelta(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))},
               std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> Adadelta::new_state() const {
  return std::make_unique<AdadeltaParamState>();
}

void Adadelta::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                      std::unique_ptr<OptimizerParamState>& state) {
  const auto& o = static_cast<const AdadeltaOptions&>(options);
  if (!state) {
    state = first_state(param);
    auto& s = static_cast<AdadeltaParamState&>(*state);
    s.square_avg(tenon::zeros_like(param));
    s.acc_delta(tenon::zeros_like(param));
  }
  auto& s = static_cast<AdadeltaParamState&>(*state);
  const Tensor g = o.weight_decay() != 0 ? grad.add(param, o.weight_decay()) : grad;
  s.step(s.step() + 1);
  s.square_avg().mul_(o.rho()).addcmul_(g, g, 1 - o.rho());
  const Tensor deviation = s.square_avg().add(o.eps()).sqrt_();
  const Tensor delta = s.acc_delta().add(o.eps()).sqrt_().div_(deviation).mul_(g);
  s.acc_delta().mul_(o.rho()).addcmul_(delta, delta, 1 - o.rho());
  param.add_(delta, -o.lr());
}

}  // namespace optim
}  // namespace tenon
