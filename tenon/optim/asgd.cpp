// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/asgd.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

ASGDOptions::ASGDOptions(double lr) : lr_(lr) {}

void ASGDOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("lambd", lambd());
  visitor.field("alpha", alpha());
  visitor.field("t0", t0());
  visitor.field("weight_decay", weight_decay());
}

void ASGDOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
}

void ASGDParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("eta", eta());
  visitor.field("mu", mu());
  visitor.field("ax", ax());
}

ASGD::ASGD(const std::vector<OptimizerParamGroup>& param_groups, ASGDOptions defaults)
    : Optimizer(param_groups, std::make_unique<ASGDOptions>(std::move(defaults))) {}

ASGD::ASGD(std::vector<Tensor> params, ASGDOptions defaults)
    : ASGD(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))},
           std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> ASGD::new_state() const {
  return std::make_unique<ASGDParamState>();
}

void ASGD::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                  std::unique_ptr<OptimizerParamState>& state) {
  const auto& o = static_cast<const ASGDOptions&>(options);
  if (!state) {
    state = first_state(param);
    auto& s = static_cast<ASGDParamState&>(*state);
    s.ax(tenon::zeros_like(param));
    s.eta(o.lr());
  }
  auto& s = static_cast<ASGDParamState&>(*state);
  const Tensor g = o.weight_decay() != 0 ? grad.add(param, o.weight_decay()) : grad;
  refuse_capture(param, "its step is counted on the host");
  s.step(s.step() + 1);
  param.mul_(1 - o.lambd() * s.eta());
  param.add_(g, -s.eta());
  if (s.mu() == 1) {
    s.ax().copy_(param);
  } else {
    s.ax().add_(param.sub(s.ax()).mul_(s.mu()));
  }
  const double steps = static_cast<double>(s.step());
  s.eta(o.lr() / std::pow(1 + o.lambd() * o.lr() * steps, o.alpha()));
  s.mu(1 / std::fmax(1, steps - o.t0()));
}

}  // namespace optim
}  // namespace tenon
