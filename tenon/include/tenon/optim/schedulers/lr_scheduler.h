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
