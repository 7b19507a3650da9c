// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Schedules that multiply the learning rate at some epochs.
#pragma once

#include "tenon/function_ref.h"
#include "tenon/optim/schedulers/lr_scheduler.h"

namespace tenon {
namespace optim {

// Times gamma after every step_size epochs.
class TENON_API StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
  const unsigned step_size_;
  const double gamma_;
};

// Times gamma at each milestone; they must increase.
class TENON_API MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
  const std::vector<int64_t> milestones_;
  const double gamma_;
};

// Times gamma every epoch.
class TENON_API ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 private:
  std::vector<double> get_lrs() override;
  const double gamma_;
};

// The initial learning rate times a function of the epoch: one for all groups, or one per group.
class TENON_API LambdaLR : public LRScheduler {
 public:
  using Function = SharedFunction<double(int64_t)>;
  LambdaLR(Optimizer& optimizer, Function function);
  LambdaLR(Optimizer& optimizer, std::vector<Function> functions);

 private:
  std::vector<double> get_lrs() override;
  std::vector<double> lrs_at(int64_t epoch);
  const std::vector<Function> functions_;
};

// The initial learning rate times factor for total_iters epochs, then unchanged.
class TENON_API ConstantLR : public LRScheduler {
 public:
  ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);

 private:
  std::vector<double> get_lrs() override;
  const double factor_;
  const int64_t total_iters_;
};

// The factor goes from start_factor to end_factor in total_iters epochs.
class TENON_API LinearLR : public LRScheduler {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0,
           int64_t total_iters = 5);

 private:
  std::vector<double> get_lrs() override;
  std::vector<double> lrs_at(int64_t epoch) const;
  const double start_factor_, end_factor_;
  const int64_t total_iters_;
};

// (1 - epoch / total_iters)^power, then zero.
class TENON_API PolynomialLR : public LRScheduler {
 public:
  PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1.0);

 private:
  std::vector<double> get_lrs() override;
  const int64_t total_iters_;
  const double power_;
};

}  // namespace optim
}  // namespace tenon
