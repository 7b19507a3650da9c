// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/grad_scaler.h"

#include <algorithm>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::amp {
namespace {

struct DeviceGradients {
  Device device;
  std::vector<Tensor> values;
};

std::vector<DeviceGradients> gradients_by_device(const optim::Optimizer& optimizer) {
  std::vector<DeviceGradients> out;
  for (const auto& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      const Tensor grad = p.grad().layout() == kStrided ? p.grad() : p.grad()._values();
      TENON_CHECK(grad.scalar_type() != kHalf, TypeError,
                  "GradScaler: Attempting to unscale FP16 gradients; keep the parameters in "
                  "float32, under autocast");
      auto at = std::find_if(out.begin(), out.end(),
                             [&](const auto& d) { return d.device == grad.device(); });
      if (at == out.end()) at = out.insert(out.end(), {grad.device(), {}});
      at->values.push_back(grad);
    }
  }
  return out;
}

bool any_found(const std::vector<Tensor>& found) {
  return std::any_of(found.begin(), found.end(),
                     [](const Tensor& t) { return t.item<float>() != 0; });
}

}  // namespace

GradScaler::GradScaler(GradScalerOptions options)
    : options_(std::move(options)), start_(options_.init_scale()) {
  TENON_CHECK(options_.growth_factor() > 1, ValueError, "GradScaler: growth_factor is ",
              options_.growth_factor(), ", expected more than 1");
  TENON_CHECK(options_.backoff_factor() < 1, ValueError, "GradScaler: backoff_factor is ",
              options_.backoff_factor(), ", expected less than 1");
}

void GradScaler::make_scale(Device device) {
  if (scale_.defined()) return;
  const TensorOptions there = TensorOptions().device(device);
  scale_ = full({}, start_, there.dtype(kFloat));
  growth_tracker_ = full({}, start_tracker_, there.dtype(kInt));
}

Tensor GradScaler::scale(const Tensor& outputs) {
  if (!is_enabled()) return outputs;
  make_scale(outputs.device());
  return outputs * scale_.to(outputs.device());
}

std::vector<Tensor> GradScaler::scale(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> out;
  out.reserve(outputs.size());
  for (const Tensor& t : outputs) out.push_back(scale(t));
  return out;
}

GradScaler::PerOptimizer& GradScaler::unscaled(optim::Optimizer& optimizer) {
  TENON_CHECK(scale_.defined(), Error,
              "GradScaler: there is no scale yet; scale() of the loss comes first");
  const std::vector<DeviceGradients> gradients = gradients_by_device(optimizer);
  PerOptimizer& state = optimizers_[&optimizer];
  // The reciprocal in float64: that of a scale in float32 may round.
  const Tensor inverse = scale_.to(kDouble).reciprocal().to(kFloat);
  for (const DeviceGradients& d : gradients) {
    const Tensor found = zeros({}, TensorOptions(kFloat).device(d.device));
    _amp_foreach_non_finite_check_and_unscale_(d.values, found, inverse.to(d.device));
    state.found_inf.push_back(found);
  }
  state.stage = Stage::Unscaled;
  return state;
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!is_enabled()) return;
  const auto at = optimizers_.find(&optimizer);
  const Stage stage = at == optimizers_.end() ? Stage::Ready : at->second.stage;
  TENON_CHECK(stage != Stage::Unscaled, Error,
              "unscale_() has already been called on this optimizer since the last update().");
  TENON_CHECK(stage != Stage::Stepped, Error, "unscale_() is being called after step().");
  unscaled(optimizer);
}

bool GradScaler::step(optim::Optimizer& optimizer) {
  if (!is_enabled()) {
    optimizer.step();
    return true;
  }
  const auto at = optimizers_.find(&optimizer);
  const Stage stage = at == optimizers_.end() ? Stage::Ready : at->second.stage;
  TENON_CHECK(stage != Stage::Stepped, Error,
              "step() has already been called since the last update().");
  PerOptimizer& state = stage == Stage::Ready ? unscaled(optimizer) : at->second;
  TENON_CHECK(!state.found_inf.empty(), Error,
              "GradScaler: no parameter of the optimizer has a gradient");
  const bool finite = !any_found(state.found_inf);
  if (finite) optimizer.step();
  state.stage = Stage::Stepped;
  return finite;
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!is_enabled()) return;
  TENON_CHECK(scale_.defined(), Error,
              "GradScaler: there is no scale yet; scale() of the loss comes first");
  if (new_scale) {
    scale_.fill_(*new_scale);
    optimizers_.clear();
    return;
  }
  TENON_CHECK(!optimizers_.empty(), Error, "No inf checks were recorded prior to update.");
  const bool found = std::any_of(optimizers_.begin(), optimizers_.end(),
                                 [](const auto& o) { return any_found(o.second.found_inf); });
  const Tensor found_inf = full({}, found ? 1. : 0., scale_.options());
  _amp_update_scale_(scale_, growth_tracker_, found_inf, options_.growth_factor(),
                     options_.backoff_factor(), options_.growth_interval());
  optimizers_.clear();
}

double GradScaler::get_scale() const {
  if (!is_enabled()) return 1;
  return scale_.defined() ? scale_.item<double>() : start_;
}

GradScaler::State GradScaler::state_dict() const {
  return {scale_.defined() ? scale_.item<double>() : start_, options_.growth_factor(),
          options_.backoff_factor(), options_.growth_interval(),
          growth_tracker_.defined() ? growth_tracker_.item<int64_t>() : start_tracker_};
}

void GradScaler::load_state_dict(const State& state) {
  options_.growth_factor(state.growth_factor)
      .backoff_factor(state.backoff_factor)
      .growth_interval(state.growth_interval);
  start_ = state.scale;
  start_tracker_ = state.growth_tracker;
  if (!scale_.defined()) return;
  scale_.fill_(start_);
  growth_tracker_.fill_(start_tracker_);
}

}  // namespace tenon::amp
