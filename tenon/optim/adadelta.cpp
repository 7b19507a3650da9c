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

void Adadelta::init_state(AdadeltaParamState& s, const Tensor& param,
                          const AdadeltaOptions&) const {
  s.square_avg(tenon::zeros_like(param));
  s.acc_delta(tenon::zeros_like(param));
}

void Adadelta::update_param(Tensor& param, const Tensor& grad, AdadeltaParamState& s,
                            const AdadeltaOptions& o) const {
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
