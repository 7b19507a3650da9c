// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scales the loss, so that gradients of float16 do not vanish: the scale grows while gradients are
// finite, and shrinks with each step that it leaves out because they are not.
//
//   amp::GradScaler scaler;
//   scaler.scale(loss).backward();
//   scaler.step(optimizer);  // divides the gradients by the scale before; scaler.unscale_ earlier
//   scaler.update();         // once per iteration, after all optimizers
#pragma once

#include <map>

#include "tenon/arg.h"
#include "tenon/optim/optimizer.h"
#include "tenon/tensor.h"

namespace tenon::amp {

struct GradScalerOptions {
  TENON_ARG(double, init_scale) = 65536;
  TENON_ARG(double, growth_factor) = 2;     // more than 1
  TENON_ARG(double, backoff_factor) = 0.5;  // less than 1
  // Steps with finite gradients until the scale grows.
  TENON_ARG(int64_t, growth_interval) = 2000;
  TENON_ARG(bool, enabled) = true;  // if not, step() is the optimizer's and the rest does nothing
};

class TENON_API GradScaler {
 public:
  // What continues a training: with the options that may have changed since.
  struct State {
    double scale, growth_factor, backoff_factor;
    int64_t growth_interval, growth_tracker;
  };

  // ValueError for a factor that is out of its range.
  explicit GradScaler(GradScalerOptions options = {});

  // The outputs times the scale; on their devices, with their histories.
  Tensor scale(const Tensor& outputs);
  std::vector<Tensor> scale(const std::vector<Tensor>& outputs);
  // Divides the gradients of the optimizer's parameters by the scale, in place, to clip them for
  // example. Error if this was done since the last update(), or after step(); TypeError for a
  // gradient of float16, which the quotient would not fit.
  void unscale_(optim::Optimizer& optimizer);
  // unscale_, unless that was done, and the optimizer's step, unless a gradient is infinite or NaN:
  // returns whether it was taken. Error if it was called since the last update().
  bool step(optim::Optimizer& optimizer);
  // Error if there was no step and no unscale_ since the last one.
  void update(std::optional<double> new_scale = std::nullopt);

  double get_scale() const;  // 1 if it is not enabled
  bool is_enabled() const { return options_.enabled(); }
  const GradScalerOptions& options() const { return options_; }
  State state_dict() const;
  void load_state_dict(const State& state);

 private:
  enum class Stage { Ready, Unscaled, Stepped };
  struct PerOptimizer {
    Stage stage = Stage::Ready;
    std::vector<Tensor> found_inf;  // one per device of a gradient
  };
  void make_scale(Device device);
  PerOptimizer& unscaled(optim::Optimizer& optimizer);

  GradScalerOptions options_;
  Tensor scale_, growth_tracker_;  // undefined until the first scale()
  double start_;                   // the scale until then
  int64_t start_tracker_ = 0;
  std::map<const optim::Optimizer*, PerOptimizer> optimizers_;
};

}  // namespace tenon::amp
