// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Saving and loading schedules.
#include "tenon/ops.h"
#include "tenon/optim/schedulers/lr_scheduler.h"
#include "tenon/optim/schedulers/reduce_on_plateau_scheduler.h"
#include "tenon/serialize.h"

namespace tenon {
namespace optim {
namespace {

void write_list(serialize::OutputArchive& archive, const char* key,
                const std::vector<double>& list) {
  archive.write(key, tensor(list, kDouble), /*is_buffer=*/true);
}

std::vector<double> read_list(serialize::InputArchive& archive, const char* key,
                              std::size_t wanted) {
  Tensor t;
  archive.read(key, t, /*is_buffer=*/true);
  TENON_CHECK(
      t.scalar_type() == kDouble && t.dim() == 1 && t.numel() == static_cast<int64_t>(wanted),
      ValueError, "load: '", key, "' of a scheduler: expected ", wanted,
      " numbers of float64, got shape ", t.sizes(), " of ", dtype_name(t.scalar_type()));
  t = t.contiguous();
  return {t.const_data_ptr<double>(), t.const_data_ptr<double>() + wanted};
}

std::vector<double> rates_of(const Optimizer& optimizer) {
  std::vector<double> out;
  for (const auto& group : optimizer.param_groups()) out.push_back(group.options().get_lr());
  return out;
}

void set_rates(Optimizer& optimizer, const std::vector<double>& rates) {
  auto& groups = optimizer.param_groups();
  for (std::size_t i = 0; i < rates.size(); ++i) groups[i].options().set_lr(rates[i]);
}

}  // namespace

void LRScheduler::save(serialize::OutputArchive& archive) const {
  write_list(archive, "step_count", {static_cast<double>(step_count_)});
  write_list(archive, "base_lrs", base_lrs_);
  write_list(archive, "lrs", rates_of(optimizer_));
}

void LRScheduler::load(serialize::InputArchive& archive) {
  const double steps = read_list(archive, "step_count", 1)[0];
  auto base = read_list(archive, "base_lrs", base_lrs_.size());
  const auto rates = read_list(archive, "lrs", optimizer_.param_groups().size());
  TENON_CHECK(steps >= 0 && steps <= 4294967295.0, ValueError, "load: a scheduler after ", steps,
              " steps");
  step_count_ = static_cast<unsigned>(steps);
  base_lrs_ = std::move(base);
  set_rates(optimizer_, rates);
}

void ReduceLROnPlateauScheduler::save(serialize::OutputArchive& archive) const {
  write_list(archive, "state",
             {best_, static_cast<double>(bad_epochs_), static_cast<double>(cooldown_left_)});
  write_list(archive, "lrs", rates_of(optimizer_));
}

void ReduceLROnPlateauScheduler::load(serialize::InputArchive& archive) {
  const auto state = read_list(archive, "state", 3);
  const auto rates = read_list(archive, "lrs", optimizer_.param_groups().size());
  TENON_CHECK(state[1] >= 0 && state[1] <= INT32_MAX && state[2] >= 0 && state[2] <= INT32_MAX,
              ValueError, "load: counts of a scheduler are out of range");
  best_ = state[0];
  bad_epochs_ = static_cast<int>(state[1]);
  cooldown_left_ = static_cast<int>(state[2]);
  set_rates(optimizer_, rates);
}

}  // namespace optim
}  // namespace tenon
