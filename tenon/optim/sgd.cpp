// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/sgd.h"

#include "tenon/optim/batches.h"

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

void SGD::update_all(ArrayRef<Item> items, const OptimizerOptions& options) {
  const auto& o = static_cast<const SGDOptions&>(options);
  Batches batches;
  for (const Item& item : items) {
    if (o.momentum() == 0) {
      batches.add(item.param, item.grad, {});
      continue;
    }
    if (!item.state) item.state = first_state(item.param);
    Tensor& buffer = static_cast<SGDParamState&>(*item.state).momentum_buffer();
    const bool first = !buffer.defined();
    if (first) buffer = tenon::empty_like(item.param);
    batches.add(item.param, item.grad, {buffer}, first);
  }
  for (const Batch& b : batches) {
    (b.fused ? tenon::_fused_sgd_ : decomp::_fused_sgd_)(b.params, b.grads, b.states[0], o.weight_decay(), o.momentum(),
                                                         o.lr(), o.dampening(), o.nesterov(), false, b.first);
  }
}

}  // namespace optim
}  // namespace tenon
