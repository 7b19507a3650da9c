// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/adam.h"

#include "tenon/optim/batches.h"

namespace tenon {
namespace optim {

AdamOptions::AdamOptions(double lr) : lr_(lr) {}

void AdamOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("betas.0", std::get<0>(betas()));
  visitor.field("betas.1", std::get<1>(betas()));
  visitor.field("eps", eps());
  visitor.field("weight_decay", weight_decay());
  visitor.field("amsgrad", amsgrad());
}

void AdamOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(eps() >= 0, "eps", eps());
  TENON_OPTIM_CHECK(std::get<0>(betas()) >= 0 && std::get<0>(betas()) < 1, "betas[0]",
                    std::get<0>(betas()));
  TENON_OPTIM_CHECK(std::get<1>(betas()) >= 0 && std::get<1>(betas()) < 1, "betas[1]",
                    std::get<1>(betas()));
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
}

// What the device counts is saved as if the host did. capturable is not saved: it says how a step
// runs, not what it does.
void AdamParamState::fields(FieldVisitor& visitor) {
  if (state_step().defined()) step(state_step().item<int64_t>());
  visitor.field("step", step());
  visitor.field("exp_avg", exp_avg());
  visitor.field("exp_avg_sq", exp_avg_sq());
  visitor.field("max_exp_avg_sq", max_exp_avg_sq());
}

Adam::Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamOptions>(std::move(defaults))) {}

Adam::Adam(std::vector<Tensor> params, AdamOptions defaults)
    : Adam(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))},
           std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> Adam::new_state() const {
  return std::make_unique<AdamParamState>();
}

void Adam::update_all(ArrayRef<Item> items, const OptimizerOptions& options) {
  const auto& o = static_cast<const AdamOptions&>(options);
  Batches batches;
  for (const Item& item : items) {
    if (!item.state) item.state = first_state(item.param);
    batches.add_adam(item.param, item.grad, static_cast<AdamParamState&>(*item.state), o.amsgrad(),
                     o.capturable());
  }
  const auto [beta1, beta2] = o.betas();
  for (const Batch& b : batches) {
    (b.fused ? tenon::_fused_adam_ : decomp::_fused_adam_)(
        b.params, b.grads, b.states[0], b.states[1], b.states[2], b.counts, b.steps, o.lr(), beta1,
        beta2, o.weight_decay(), o.eps(), o.amsgrad(), false);
  }
}

}  // namespace optim
}  // namespace tenon
