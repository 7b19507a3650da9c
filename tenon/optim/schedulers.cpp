// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/optim/schedulers/cyclic_lr.h"
#include "tenon/optim/schedulers/reduce_on_plateau_scheduler.h"
#include "tenon/optim/schedulers/step_lr.h"

namespace tenon {
namespace optim {

namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<double> scaled(std::vector<double> lrs, double factor) {
  for (double& lr : lrs) lr *= factor;
  return lrs;
}

std::vector<double> cosine(const std::vector<double>& base, double min_lr, double position) {
  std::vector<double> out;
  out.reserve(base.size());
  for (const double lr : base)
    out.push_back(min_lr + (lr - min_lr) * (1 + std::cos(kPi * position)) / 2);
  return out;
}

}  // namespace

LRScheduler::LRScheduler(Optimizer& optimizer)
    : optimizer_(optimizer), base_lrs_(get_current_lrs()) {}
LRScheduler::~LRScheduler() = default;

void LRScheduler::step() {
  set_optimizer_lrs(get_lrs());
  ++step_count_;
}

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> out;
  for (const auto& group : optimizer_.param_groups()) out.push_back(group.options().get_lr());
  return out;
}

void LRScheduler::set_optimizer_lrs(const std::vector<double>& lrs) {
  auto& groups = optimizer_.param_groups();
  TENON_CHECK(lrs.size() == groups.size(), ValueError, "the schedule has ", lrs.size(),
              " learning rates, the optimizer ", groups.size(), " groups");
  for (std::size_t i = 0; i < lrs.size(); ++i) groups[i].options().set_lr(lrs[i]);
}

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  TENON_OPTIM_CHECK(step_size > 0, "step_size", step_size);
}
std::vector<double> StepLR::get_lrs() {
  return scaled(get_current_lrs(), (step_count_ + 1) % step_size_ == 0 ? gamma_ : 1.0);
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : LRScheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  for (std::size_t i = 1; i < milestones_.size(); ++i) {
    TENON_CHECK(milestones_[i - 1] < milestones_[i], ValueError, "milestones must increase, but ",
                milestones_[i - 1], " is followed by ", milestones_[i]);
  }
}
std::vector<double> MultiStepLR::get_lrs() {
  const bool now = std::binary_search(milestones_.begin(), milestones_.end(),
                                      static_cast<int64_t>(step_count_) + 1);
  return scaled(get_current_lrs(), now ? gamma_ : 1.0);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma)
    : LRScheduler(optimizer), gamma_(gamma) {}
std::vector<double> ExponentialLR::get_lrs() { return scaled(get_current_lrs(), gamma_); }

LambdaLR::LambdaLR(Optimizer& optimizer, Function function)
    : LambdaLR(optimizer, std::vector<Function>(optimizer.param_groups().size(), function)) {}
LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Function> functions)
    : LRScheduler(optimizer), functions_(std::move(functions)) {
  TENON_CHECK(functions_.size() == base_lrs_.size(), ValueError, "LambdaLR: expected ",
              base_lrs_.size(), " functions, one per group, got ", functions_.size());
  set_optimizer_lrs(lrs_at(0));
}
std::vector<double> LambdaLR::lrs_at(int64_t epoch) {
  std::vector<double> out = base_lrs_;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= functions_[i](epoch);
  return out;
}
std::vector<double> LambdaLR::get_lrs() { return lrs_at(static_cast<int64_t>(step_count_) + 1); }

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : LRScheduler(optimizer), factor_(factor), total_iters_(total_iters) {
  TENON_OPTIM_CHECK(factor >= 0 && factor <= 1, "factor", factor);
  if (total_iters_ > 0) set_optimizer_lrs(scaled(base_lrs_, factor_));
}
std::vector<double> ConstantLR::get_lrs() {
  return scaled(base_lrs_, static_cast<int64_t>(step_count_) + 1 < total_iters_ ? factor_ : 1.0);
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor,
                   int64_t total_iters)
    : LRScheduler(optimizer),
      start_factor_(start_factor),
      end_factor_(end_factor),
      total_iters_(total_iters) {
  TENON_OPTIM_CHECK(start_factor > 0 && start_factor <= 1, "start_factor", start_factor);
  TENON_OPTIM_CHECK(end_factor >= 0 && end_factor <= 1, "end_factor", end_factor);
  TENON_OPTIM_CHECK(total_iters > 0, "total_iters", total_iters);
  set_optimizer_lrs(lrs_at(0));
}
std::vector<double> LinearLR::lrs_at(int64_t epoch) const {
  const double share =
      static_cast<double>(std::min(epoch, total_iters_)) / static_cast<double>(total_iters_);
  return scaled(base_lrs_, start_factor_ + (end_factor_ - start_factor_) * share);
}
std::vector<double> LinearLR::get_lrs() { return lrs_at(static_cast<int64_t>(step_count_) + 1); }

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power)
    : LRScheduler(optimizer), total_iters_(total_iters), power_(power) {
  TENON_OPTIM_CHECK(total_iters > 0, "total_iters", total_iters);
}
std::vector<double> PolynomialLR::get_lrs() {
  const int64_t epoch = std::min(static_cast<int64_t>(step_count_) + 1, total_iters_);
  return scaled(
      base_lrs_,
      std::pow(1 - static_cast<double>(epoch) / static_cast<double>(total_iters_), power_));
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer), T_max_(T_max), eta_min_(eta_min) {
  TENON_OPTIM_CHECK(T_max > 0, "T_max", T_max);
}
std::vector<double> CosineAnnealingLR::get_lrs() {
  return cosine(base_lrs_, eta_min_,
                static_cast<double>(step_count_ + 1) / static_cast<double>(T_max_));
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0,
                                                         int64_t T_mult, double eta_min)
    : LRScheduler(optimizer), T_0_(T_0), T_mult_(T_mult), eta_min_(eta_min) {
  TENON_OPTIM_CHECK(T_0 > 0, "T_0", T_0);
  TENON_OPTIM_CHECK(T_mult >= 1, "T_mult", T_mult);
}
std::vector<double> CosineAnnealingWarmRestarts::get_lrs() {
  int64_t epoch = static_cast<int64_t>(step_count_) + 1, length = T_0_;
  while (epoch >= length) {
    epoch -= length;
    length *= T_mult_;
  }
  return cosine(base_lrs_, eta_min_, static_cast<double>(epoch) / static_cast<double>(length));
}

CyclicLR::CyclicLR(Optimizer& optimizer, double base_lr, double max_lr, int64_t step_size_up,
                   int64_t step_size_down, std::string mode, double gamma)
    : LRScheduler(optimizer),
      base_lr_(base_lr),
      max_lr_(max_lr),
      up_(step_size_up),
      down_(step_size_down > 0 ? step_size_down : step_size_up),
      mode_(std::move(mode)),
      gamma_(gamma) {
  TENON_OPTIM_CHECK(step_size_up > 0, "step_size_up", step_size_up);
  TENON_OPTIM_CHECK(mode_ == "triangular" || mode_ == "triangular2" || mode_ == "exp_range", "mode",
                    mode_);
  set_optimizer_lrs(std::vector<double>(base_lrs_.size(), lr_at(0)));
}
double CyclicLR::lr_at(int64_t epoch) const {
  const int64_t cycle = epoch / (up_ + down_), within = epoch % (up_ + down_);
  const double height =
      within <= up_ ? static_cast<double>(within) / static_cast<double>(up_)
                    : static_cast<double>(up_ + down_ - within) / static_cast<double>(down_);
  double scale = 1;
  if (mode_ == "triangular2") scale = std::pow(0.5, static_cast<double>(cycle));
  if (mode_ == "exp_range") scale = std::pow(gamma_, static_cast<double>(epoch));
  return base_lr_ + (max_lr_ - base_lr_) * height * scale;
}
std::vector<double> CyclicLR::get_lrs() {
  return std::vector<double>(base_lrs_.size(), lr_at(static_cast<int64_t>(step_count_) + 1));
}

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(
    Optimizer& optimizer, SchedulerMode mode, double factor, int patience, double threshold,
    ThresholdMode threshold_mode, int cooldown, const std::vector<float>& min_lrs, double eps, bool)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(min_lrs),
      eps_(eps),
      best_(mode == min ? std::numeric_limits<double>::infinity()
                        : -std::numeric_limits<double>::infinity()) {
  TENON_CHECK(factor < 1.0, ValueError, "factor must be below 1, got ", factor);
  const std::size_t groups = optimizer.param_groups().size();
  if (min_lrs_.empty()) min_lrs_.push_back(0);
  if (min_lrs_.size() == 1) min_lrs_.resize(groups, min_lrs_[0]);
  TENON_CHECK(min_lrs_.size() == groups, ValueError, "ReduceLROnPlateauScheduler: expected ",
              groups, " minimum learning rates, one per group, got ", min_lrs_.size());
}
ReduceLROnPlateauScheduler::~ReduceLROnPlateauScheduler() = default;

void ReduceLROnPlateauScheduler::step(double metric) {
  if (is_better(metric)) {
    best_ = metric;
    bad_epochs_ = 0;
  } else {
    ++bad_epochs_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ <= patience_) return;
  reduce();
  cooldown_left_ = cooldown_;
  bad_epochs_ = 0;
}

bool ReduceLROnPlateauScheduler::is_better(double metric) const {
  if (std::isinf(best_)) return mode_ == min ? metric < best_ : metric > best_;
  if (mode_ == min)
    return metric < (threshold_mode_ == rel ? best_ * (1 - threshold_) : best_ - threshold_);
  return metric > (threshold_mode_ == rel ? best_ * (1 + threshold_) : best_ + threshold_);
}

void ReduceLROnPlateauScheduler::reduce() {
  auto& groups = optimizer_.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double old = groups[i].options().get_lr();
    const double lr = std::fmax(old * factor_, static_cast<double>(min_lrs_[i]));
    if (old - lr > eps_) groups[i].options().set_lr(lr);
  }
}

}  // namespace optim
}  // namespace tenon
