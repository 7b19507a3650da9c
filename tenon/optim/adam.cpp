// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Adam, AdamW, and what Adamax and RAdam share with them.
#include "tenon/optim/adam.h"

#include "tenon/optim/adam_base.h"
#include "tenon/optim/adamax.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/batches.h"
#include "tenon/optim/radam.h"

namespace tenon {
namespace optim {
namespace detail {

template <class Options>
void AdamOptionsBase<Options>::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("betas.0", std::get<0>(betas()));
  visitor.field("betas.1", std::get<1>(betas()));
  visitor.field("eps", eps());
  visitor.field("weight_decay", weight_decay());
}

template <class Options>
void AdamOptionsBase<Options>::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(eps() >= 0, "eps", eps());
  TENON_OPTIM_CHECK(std::get<0>(betas()) >= 0 && std::get<0>(betas()) < 1, "betas[0]",
                    std::get<0>(betas()));
  TENON_OPTIM_CHECK(std::get<1>(betas()) >= 0 && std::get<1>(betas()) < 1, "betas[1]",
                    std::get<1>(betas()));
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
}

template <class Options>
void FusedAdamOptions<Options>::fields(FieldVisitor& visitor) {
  AdamOptionsBase<Options>::fields(visitor);
  visitor.field("amsgrad", amsgrad());
}

// What the device counts is saved as if the host did. capturable is not saved: it says how a step
// runs, not what it does.
template <class ParamState>
void FusedAdamParamState<ParamState>::fields(FieldVisitor& visitor) {
  if (state_step().defined()) step(state_step().template item<int64_t>());
  visitor.field("step", step());
  visitor.field("exp_avg", exp_avg());
  visitor.field("exp_avg_sq", exp_avg_sq());
  visitor.field("max_exp_avg_sq", max_exp_avg_sq());
}

template <class Options, class ParamState>
void FusedAdam<Options, ParamState>::update_all(ArrayRef<Optimizer::Item> items,
                                                const OptimizerOptions& options) {
  constexpr bool kIsAdamW = std::is_same_v<Options, AdamWOptions>;
  constexpr auto update_fused = kIsAdamW ? tenon::_adamw_step_ : tenon::_adam_step_;
  constexpr auto update_by_operators = kIsAdamW ? decomp::_adamw_step_ : decomp::_adam_step_;
  const auto& o = static_cast<const Options&>(options);
  Batches batches;
  for (const Optimizer::Item& item : items) {
    if (!item.state) item.state = this->first_state(item.param);
    batches.add_adam(item.param, item.grad, static_cast<ParamState&>(*item.state), o.amsgrad(),
                     o.capturable());
  }
  const auto [beta1, beta2] = o.betas();
  for (const Batch& b : batches) {
    (b.fused ? update_fused : update_by_operators)(
        b.params, b.grads, b.states[0], b.states[1], b.states[2], b.counts, b.steps, o.lr(), beta1,
        beta2, o.weight_decay(), o.eps(), o.amsgrad(), false);
  }
}

template struct AdamOptionsBase<AdamOptions>;
template struct AdamOptionsBase<AdamWOptions>;
template struct AdamOptionsBase<AdamaxOptions>;
template struct AdamOptionsBase<RAdamOptions>;
template struct FusedAdamOptions<AdamOptions>;
template struct FusedAdamOptions<AdamWOptions>;
template struct FusedAdamParamState<AdamParamState>;
template struct FusedAdamParamState<AdamWParamState>;
template class FusedAdam<AdamOptions, AdamParamState>;
template class FusedAdam<AdamWOptions, AdamWParamState>;

}  // namespace detail

AdamOptions::AdamOptions(double lr) : FusedAdamOptions(lr, /*weight_decay=*/0) {}
AdamWOptions::AdamWOptions(double lr) : FusedAdamOptions(lr, /*weight_decay=*/1e-2) {}

}  // namespace optim
}  // namespace tenon
