// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/adamax.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

AdamaxOptions::AdamaxOptions(double lr) : AdamOptionsBase(lr, /*weight_decay=*/0) {}

void AdamaxParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("exp_avg", exp_avg());
  visitor.field("exp_inf", exp_inf());
}

void Adamax::init_state(AdamaxParamState& s, const Tensor& param, const AdamaxOptions&) const {
  s.exp_avg(tenon::zeros_like(param));
  s.exp_inf(tenon::zeros_like(param));
}

void Adamax::update_param(Tensor& param, const Tensor& grad, AdamaxParamState& s,
                          const AdamaxOptions& o) const {
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
