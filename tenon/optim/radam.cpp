// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/radam.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

RAdamOptions::RAdamOptions(double lr) : lr_(lr) {}

void RAdamOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("betas.0", std::get<0>(betas()));
  visitor.field("betas.1", std::get<1>(betas()));
  visitor.field("eps", eps());
  visitor.field("weight_decay", weight_decay());
}

void RAdamOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(eps() >= 0, "eps", eps());
  TENON_OPTIM_CHECK(std::get<0>(betas()) >= 0 && std::get<0>(betas()) < 1, "betas[0]",
                    std::get<0>(betas()));
  TENON_OPTIM_CHECK(std::get<1>(betas()) >= 0 && std::get<1>(betas()) < 1, "betas[1]",
                    std::get<1>(betas()));
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
}

void RAdamParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("exp_avg", exp_avg());
  visitor.field("exp_avg_sq", exp_avg_sq());
}

RAdam::RAdam(const std::vector<OptimizerParamGroup>& param_groups, RAdamOptions defaults)
    : Optimizer(param_groups, std::make_unique<RAdamOptions>(std::move(defaults))) {}

RAdam::RAdam(std::vector<Tensor> params, RAdamOptions defaults)
    : RAdam(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))},
            std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> RAdam::new_state() const {
  return std::make_unique<RAdamParamState>();
}

void RAdam::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                   std::unique_ptr<OptimizerParamState>& state) {
  const auto& o = static_cast<const RAdamOptions&>(options);
  if (!state) {
    state = first_state(param);
    auto& s = static_cast<RAdamParamState&>(*state);
    s.exp_avg(tenon::zeros_like(param));
    s.exp_avg_sq(tenon::zeros_like(param));
  }
  auto& s = static_cast<RAdamParamState&>(*state);
  const Tensor g = o.weight_decay() != 0 ? grad.add(param, o.weight_decay()) : grad;
  const auto [beta1, beta2] = o.betas();
  refuse_capture(param, "its step is counted on the host");
  s.step(s.step() + 1);
  const double steps = static_cast<double>(s.step());
  const double correction1 = 1 - std::pow(beta1, steps), correction2 = 1 - std::pow(beta2, steps);
  s.exp_avg().mul_(beta1).add_(g, 1 - beta1);
  s.exp_avg_sq().mul_(beta2).addcmul_(g, g, 1 - beta2);
  const double longest = 2 / (1 - beta2) - 1;
  const double length = longest - 2 * steps * std::pow(beta2, steps) / correction2;
  if (length <= 5) {  // the variance is not known well enough to divide by it
    param.add_(s.exp_avg(), -o.lr() / correction1);
    return;
  }
  const double rectified =
      std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
  const Tensor divisor = s.exp_avg_sq().sqrt().add_(o.eps());
  param.addcdiv_(s.exp_avg(), divisor, -o.lr() * rectified * std::sqrt(correction2) / correction1);
}

}  // namespace optim
}  // namespace tenon
