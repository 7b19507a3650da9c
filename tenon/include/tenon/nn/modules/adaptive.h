// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tenon/nn/modules/containers.h"
#include "tenon/nn/modules/linear.h"
#include "tenon/nn/modules/sequential.h"
#include "tenon/nn/options/adaptive.h"

namespace tenon {
namespace nn {

// What AdaptiveLogSoftmaxWithLoss computes.
struct ASMoutput {
  Tensor output;  // [batch], the logarithm of the probability of each target
  double loss;    // minus their mean
};

// Softmax over many classes (Grave and others, 2017): the head scores the frequent classes and
// clusters of the others, and a tail of its own each cluster's classes, from fewer features.
class TENON_API AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes,
                                 std::vector<int64_t> cutoffs);
  explicit AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  // input is [batch, in_features], target [batch] holds classes.
  ASMoutput forward(const Tensor& input, const Tensor& target);
  // The logarithms of the probabilities of all classes, [batch, n_classes].
  Tensor log_prob(const Tensor& input);
  // The class of the highest probability, [batch].
  Tensor predict(const Tensor& input);

  AdaptiveLogSoftmaxWithLossOptions options;
  std::vector<int64_t> cutoffs;  // those of the options, then n_classes
  int64_t shortlist_size = 0;    // classes that the head scores itself
  int64_t n_clusters = 0;
  int64_t head_size = 0;  // shortlist_size + n_clusters
  Linear head = nullptr;
  ModuleList tail = nullptr;  // a Sequential of two Linear per cluster

 private:
  Tensor cluster_log_prob(std::size_t cluster, const Tensor& input);
  Tensor full_log_prob(const Tensor& input, const Tensor& head_output);
};
TENON_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace nn
}  // namespace tenon
