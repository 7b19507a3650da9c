// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/adagrad.h"

#include <cmath>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/optim/layouts.h"

namespace tenon {
namespace optim {

AdagradOptions::AdagradOptions(double lr) : lr_(lr) {}

void AdagradOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("lr_decay", lr_decay());
  visitor.field("weight_decay", weight_decay());
  visitor.field("initial_accumulator_value", initial_accumulator_value());
  visitor.field("eps", eps());
}

void AdagradOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(lr_decay() >= 0, "lr_decay", lr_decay());
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
  TENON_OPTIM_CHECK(initial_accumulator_value() >= 0, "initial_accumulator_value",
                    initial_accumulator_value());
  TENON_OPTIM_CHECK(eps() >= 0, "eps", eps());
}

void AdagradParamState::fields(FieldVisitor& visitor) {
  visitor.field("sum", sum());
  visitor.field("step", step());
}

namespace {

double rate_of(const AdagradParamState& s, const AdagradOptions& o) {
  return o.lr() / (1 + static_cast<double>(s.step() - 1) * o.lr_decay());
}

// Elements without a gradient keep their sum and their value.
void update_sparse(Tensor& param, const Tensor& grad, AdagradParamState& s,
                   const AdagradOptions& o) {
  const Tensor at = grad._indices(), v = grad._values();
  if (at.size(1) == 0) return;
  add_elements(s.sum(), at, v.mul(v));
  const Tensor divisor = tenon::_values_at(s.sum(), at).sqrt_().add_(o.eps());
  add_elements(param, at, v.div(divisor).mul_(-rate_of(s, o)));
}

}  // namespace

Adagrad::Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults)
    : SerialOptimizer(param_groups, std::move(defaults)) {
  NoGradGuard no_grad;
  for (const auto& group : param_groups_) {
    for (const Tensor& p : group.params()) {
      auto state = std::make_unique<AdagradParamState>();
      init_state(*state, p, static_cast<const AdagradOptions&>(group.options()));
      state_[p.unsafeGetTensorImpl()] = std::move(state);
    }
  }
}
Adagrad::Adagrad(std::vector<Tensor> params, AdagradOptions defaults)
    : Adagrad({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

void Adagrad::init_state(AdagradParamState& s, const Tensor& param, const AdagradOptions& o) const {
  s.sum(tenon::full_like(param, o.initial_accumulator_value()));
}

void Adagrad::update_param(Tensor& param, const Tensor& grad, AdagradParamState& s,
                           const AdagradOptions& o) const {
  if (grad.layout() != kStrided) {
    TENON_CHECK(o.weight_decay() == 0, ValueError,
                "Adagrad: weight_decay is not compatible with sparse gradients");
    s.step(s.step() + 1);
    update_sparse(param, grad.coalesce(), s, o);
    return;
  }
  const Tensor g = o.weight_decay() != 0 ? grad.add(param, o.weight_decay()) : grad;
  if (o.lr_decay() != 0) refuse_capture(param, "its step is counted on the host");
  s.step(s.step() + 1);
  const double rate = rate_of(s, o);
  s.sum().addcmul_(g, g, 1.0);
  param.addcdiv_(g, s.sum().sqrt().add_(o.eps()), -rate);
}

}  // namespace optim
}  // namespace tenon
