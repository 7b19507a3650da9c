// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/adamax.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

AdamaxOptions::AdamaxOptions(double lr) : lr_(lr) {}

void AdamaxOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("betas.0", std::get<0>(betas()));
  visitor.field("betas.1", std::get<1>(betas()));
  visitor.field("eps", eps());
  visitor.field("weight_decay", weight_decay());
}

void AdamaxOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(eps() >= 0, "eps", eps());
  TENON_OPTIM_CHECK(std::get<0>(betas()) >= 0 && std::get<0>(betas()) < 1, "betas[0]",
                    std::get<0>(betas()));
  TENON_OPTIM_CHECK(std::get<1>(betas()) >= 0 && std::get<1>(betas()) < 1, "betas[1]",
                    std::get<1>(betas()));
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
}

void AdamaxParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("exp_avg", exp_avg());
  visitor.field("exp_inf", exp_inf());
}

Adamax::Adamax(const std::vector<OptimizerParamGroup>& param_groups, AdamaxOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamaxOptions>(std::move(defaults))) {}

Adamax::Adamax(std::vector<Tensor> params, AdamaxOptions defaults)
    : Adamax(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))},
             std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> Adamax::new_state() const {
  return std::make_unique<AdamaxParamState>();
}

void Adamax::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                    std::unique_ptr<OptimizerParamState>& state) {
  const auto& o = static_cast<const AdamaxOptions&>(options);
  if (!state) {
    state = first_state(param);
    auto& s = static_cast<AdamaxParamState&>(*state);
    s.exp_avg(tenon::zeros_like(param));
    s.exp_inf(tenon::zeros_like(param));
  }
  auto& s = static_cast<AdamaxParamState&>(*state);
  const Tensor g = o.weight_decay() != 0 ? grad.add(param, o.weight_decay()) : grad;
  const auto [beta1, beta2] = o.betas();
  refuse_capture(param, "its step is counted on the host");
  s.step(s.step() + 1);
  s.exp_avg().mul_(beta1).add_(g, 1 - beta1);
  s.exp_inf(tenon::maximum(s.exp_inf().mul_(beta2), g.abs().add_(o.eps())));
  const double correction = 1 - std::pow(beta1, static_cast<double>(s.step()));
  param.addcdiv_(s.exp_avg(), s.exp_inf(), -o.lr() / correction);
}

}  // namespace optim
}  // namespace tenon
