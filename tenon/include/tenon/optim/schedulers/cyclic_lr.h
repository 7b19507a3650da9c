// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Periodic schedules.
#pragma once

#include <string>

#include "tenon/optim/schedulers/lr_scheduler.h"

namespace tenon {
namespace optim {

// Half a cosine from the initial learning rate to eta_min in T_max epochs, and back.
class TENON_API CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 private:
  std::vector<double> get_lrs() override;
  const int64_t T_max_;
  const double eta_min_;
};

// Half a cosine over T_0 epochs, then again over T_mult times as many (Loshchilov and Hutter,
// 2016).
class TENON_API CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1,
                              double eta_min = 0);

 private:
  std::vector<double> get_lrs() override;
  const int64_t T_0_, T_mult_;
  const double eta_min_;
};

// From base_lr up to max_lr and down again (Smith, 2015). mode: "triangular"; "triangular2" halves
// the height each cycle; "exp_range" multiplies it by gamma every epoch. step_size_down 0 means
// step_size_up.
class TENON_API CyclicLR : public LRScheduler {
 public:
  CyclicLR(Optimizer& optimizer, double base_lr, double max_lr, int64_t step_size_up = 2000,
           int64_t step_size_down = 0, std::string mode = "triangular", double gamma = 1.0);

 private:
  std::vector<double> get_lrs() override;
  double lr_at(int64_t epoch) const;
  const double base_lr_, max_lr_;
  const int64_t up_, down_;
  const std::string mode_;
  const double gamma_;
};

}  // namespace optim
}  // namespace tenon
