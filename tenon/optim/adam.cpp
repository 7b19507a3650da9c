// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/adam.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

AdamOptions::AdamOptions(double lr) : lr_(lr) {}

void AdamOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("betas.0", std::get<0>(betas()));
  visitor.field("betas.1", std::get<1>(betas()));
  visitor.field("eps", eps());
  visitor.field("weight_decay", weight_decay());
  visitor.field("amsgrad", amsgrad());
}

void AdamOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(eps() >= 0, "eps", eps());
  TENON_OPTIM_CHECK(std::get<0>(betas()) >= 0 && std::get<0>(betas()) < 1, "betas[0]", std::get<0>(betas()));
  TENON_OPTIM_CHECK(std::get<1>(betas()) >= 0 && std::get<1>(betas()) < 1, "betas[1]", std::get<1>(betas()));
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
}

void AdamParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("exp_avg", exp_avg());
  visitor.field("exp_avg_sq", exp_avg_sq());
  visitor.field("max_exp_avg_sq", max_exp_avg_sq());
}

Adam::Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamOptions>(std::move(defaults))) {}

Adam::Adam(std::vector<Tensor> params, AdamOptions defaults)
    : Adam(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> Adam::new_state() const { return std::make_unique<AdamParamState>(); }

void Adam::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                  std::unique_ptr<OptimizerParamState>& state) {
  const auto& o = static_cast<const AdamOptions&>(options);
  if (!state) {
    state = new_state();
    auto& s = static_cast<AdamParamState&>(*state);
    s.exp_avg(tenon::zeros_like(param));
    s.exp_avg_sq(tenon::zeros_like(param));
  }
  auto& s = static_cast<AdamParamState&>(*state);
  const Tensor g = o.weight_decay() != 0 ? grad.add(param, o.weight_decay()) : grad;
  const auto [beta1, beta2] = o.betas();
  s.step(s.step() + 1);
  const double steps = static_cast<double>(s.step());
  const double correction1 = 1 - std::pow(beta1, steps), correction2 = 1 - std::pow(beta2, steps);
  s.exp_avg().mul_(beta1).add_(g, 1 - beta1);
  s.exp_avg_sq().mul_(beta2).addcmul_(g, g, 1 - beta2);
  if (o.amsgrad()) {
    if (!s.max_exp_avg_sq().defined()) s.max_exp_avg_sq(tenon::zeros_like(param));
    s.max_exp_avg_sq(tenon::maximum(s.max_exp_avg_sq(), s.exp_avg_sq()));
  }
  const Tensor& squares = o.amsgrad() ? s.max_exp_avg_sq() : s.exp_avg_sq();
  const Tensor divisor = squares.sqrt().div_(std::sqrt(correction2)).add_(o.eps());
  param.addcdiv_(s.exp_avg(), divisor, -o.lr() / correction1);
}

}  // namespace optim
}  // namespace tenon
