// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/radam.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

RAdamOptions::RAdamOptions(double lr) : AdamOptionsBase(lr, /*weight_decay=*/0) {}

void RAdamParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("exp_avg", exp_avg());
  visitor.field("exp_avg_sq", exp_avg_sq());
}

void RAdam::init_state(RAdamParamState& s, const Tensor& param, const RAdamOptions&) const {
  s.exp_avg(tenon::zeros_like(param));
  s.exp_avg_sq(tenon::zeros_like(param));
}

void RAdam::update_param(Tensor& param, const Tensor& grad, RAdamParamState& s,
                         const RAdamOptions& o) const {
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
