// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

// Multiplies the learning rates by factor when a metric has not become better for more than
// `patience` epochs.
class TENON_API ReduceLROnPlateauScheduler {
 public:
  enum SchedulerMode { min, max };
  enum ThresholdMode { rel, abs };
  // threshold: by how much the metric must beat the best to count, relative to it or absolute.
  // cooldown: epochs after a reduction that do not count. min_lrs: smallest learning rate, one for
  // all groups or one per group. Reductions of at most eps are left out.
  ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, double factor = 0.1,
                             int patience = 10, double threshold = 1e-4,
                             ThresholdMode threshold_mode = rel, int cooldown = 0,
                             const std::vector<float>& min_lrs = {}, double eps = 1e-8,
                             bool verbose = false);
  virtual ~ReduceLROnPlateauScheduler();
  // The metric of the epoch that ended.
  void step(double metric);
  // The best metric, the counts of epochs and the optimizer's learning rates, as LRScheduler's.
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 private:
  bool is_better(double metric) const;
  void reduce();

  Optimizer& optimizer_;
  SchedulerMode mode_;
  double factor_;
  int patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int cooldown_, cooldown_left_ = 0, bad_epochs_ = 0;
  std::vector<float> min_lrs_;
  double eps_;
  double best_;
};

}  // namespace optim
}  // namespace tenon
