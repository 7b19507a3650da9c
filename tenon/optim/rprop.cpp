// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/rprop.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

RpropOptions::RpropOptions(double lr) : lr_(lr) {}

void RpropOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("etas.0", std::get<0>(etas()));
  visitor.field("etas.1", std::get<1>(etas()));
  visitor.field("step_sizes.0", std::get<0>(step_sizes()));
  visitor.field("step_sizes.1", std::get<1>(step_sizes()));
}

void RpropOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(std::get<0>(etas()) > 0 && std::get<0>(etas()) < 1 && std::get<1>(etas()) > 1,
                    "etas", std::get<0>(etas()));
}

void RpropParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("prev", prev());
  visitor.field("step_size", step_size());
}

Rprop::Rprop(const std::vector<OptimizerParamGroup>& param_groups, RpropOptions defaults)
    : Optimizer(param_groups, std::make_unique<RpropOptions>(std::move(defaults))) {}

Rprop::Rprop(std::vector<Tensor> params, RpropOptions defaults)
    : Rprop(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))},
            std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> Rprop::new_state() const {
  return std::make_unique<RpropParamState>();
}

void Rprop::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                   std::unique_ptr<OptimizerParamState>& state) {
  const auto& o = static_cast<const RpropOptions&>(options);
  if (!state) {
    state = first_state(param);
    auto& s = static_cast<RpropParamState&>(*state);
    s.prev(tenon::zeros_like(param));
    s.step_size(tenon::full_like(param, o.lr()));
  }
  auto& s = static_cast<RpropParamState&>(*state);
  const auto [less, more] = o.etas();
  const auto [min_step, max_step] = o.step_sizes();
  s.step(s.step() + 1);
  const Tensor sign = grad.mul(s.prev()).sign_();
  const Tensor factor =
      tenon::ones_like(sign).masked_fill_(sign > 0, more).masked_fill_(sign < 0, less);
  s.step_size().mul_(factor).clamp_(min_step, max_step);
  // A step that went too far is not undone, but the next one starts over.
  const Tensor g = grad.masked_fill(sign < 0, 0);
  param.addcmul_(g.sign(), s.step_size(), -1.0);
  s.prev(g);
}

}  // namespace optim
}  // namespace tenon
