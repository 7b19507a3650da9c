// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/arg.h"

namespace tenon {
namespace nn {

struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes,
                                    std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  // Features of an input.
  TENON_ARG(int64_t, in_features);
  // Classes, the most frequent ones first.
  TENON_ARG(int64_t, n_classes);
  // The first class of each cluster, increasing.
  TENON_ARG(std::vector<int64_t>, cutoffs);
  // The features of each cluster are those of the one before, divided by this.
  TENON_ARG(double, div_value) = 4.0;
  // Whether the head adds a bias.
  TENON_ARG(bool, head_bias) = false;
};

}  // namespace nn
}  // namespace tenon
