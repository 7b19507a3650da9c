// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

// Sets the learning rates of an optimizer, which must outlive it, once per epoch: optimizer.step()
// first, then step() here.
class TENON_API LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler();
  void step();
  int64_t last_epoch() const noexcept { return static_cast<int64_t>(step_count_); }  // steps done
  std::vector<double> get_last_lr() const { return get_current_lrs(); }

  // The count of steps and the learning rates, those at the start and those of now. load() sets the
  // optimizer's, so it does not matter which of the two is loaded first. Functions and numbers that
  // the constructor was given are not saved. ValueError: another number of groups.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

 protected:
  // The learning rate of each group after the next step(); step_count_ steps are done.
  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;
  void set_optimizer_lrs(const std::vector<double>& lrs);

  unsigned step_count_ = 0;
  Optimizer& optimizer_;
  std::vector<double> base_lrs_;  // those at construction
};

}  // namespace optim
}  // namespace tenon
