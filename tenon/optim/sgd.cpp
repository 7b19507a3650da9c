// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/sgd.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace optim {

SGDOptions::SGDOptions(double lr) : lr_(lr) {}

void SGDOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("momentum", momentum());
  visitor.field("dampening", dampening());
  visitor.field("weight_decay", weight_decay());
  visitor.field("nesterov", nesterov());
}

void SGDOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(momentum() >= 0, "momentum", momentum());
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
  TENON_OPTIM_CHECK(!nesterov() || (momentum() > 0 && dampening() == 0), "nesterov",
                    "true; it needs a momentum and zero dampening");
}

void SGDParamState::fields(FieldVisitor& visitor) { visitor.field("momentum_buffer", momentum_buffer()); }

SGD::SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults)
    : Optimizer(param_groups, std::make_unique<SGDOptions>(std::move(defaults))) {}

SGD::SGD(std::vector<Tensor> params, SGDOptions defaults)
    : SGD(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> SGD::new_state() const { return std::make_unique<SGDParamState>(); }

void SGD::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                 std::unique_ptr<OptimizerParamState>& state) {
  const auto& o = static_cast<const SGDOptions&>(options);
  const Tensor g = o.weight_decay() != 0 ? grad.add(param, o.weight_decay()) : grad;
  if (o.momentum() == 0) {
    param.add_(g, -o.lr());
    return;
  }
  if (!state) state = new_state();
  Tensor& buffer = static_cast<SGDParamState&>(*state).momentum_buffer();
  if (buffer.defined()) {
    buffer.mul_(o.momentum()).add_(g, 1 - o.dampening());
  } else {
    buffer = g.clone();
  }
  param.add_(o.nesterov() ? g.add(buffer, o.momentum()) : buffer, -o.lr());
}

}  // namespace optim
}  // namespace tenon
