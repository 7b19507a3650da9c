// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/adaptive.h"

#include <cmath>
#include <ostream>
#include <utility>

#include "tenon/nn/modules/shown_namespace.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(int64_t in_features,
                                                               int64_t n_classes,
                                                               std::vector<int64_t> cutoffs)
    : AdaptiveLogSoftmaxWithLossImpl(
          AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}
AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(
    AdaptiveLogSoftmaxWithLossOptions options_)
    : options(std::move(options_)) {
  AdaptiveLogSoftmaxWithLossImpl::reset();
}

void AdaptiveLogSoftmaxWithLossImpl::reset() {
  const auto& o = options;
  int64_t before = 0;
  bool increasing = !o.cutoffs().empty();
  for (const int64_t cutoff : o.cutoffs()) {
    increasing = increasing && cutoff > before && cutoff < o.n_classes();
    before = cutoff;
  }
  TENON_CHECK(increasing, ValueError,
              "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
              "order, where each value is between 1 and n_classes-1, got ",
              core::join(IntArrayRef(o.cutoffs())), " and n_classes=", o.n_classes());
  TENON_CHECK(o.div_value() != 0, ValueError, "div_value should not be equal to 0");

  cutoffs = o.cutoffs();
  cutoffs.push_back(o.n_classes());
  shortlist_size = cutoffs[0];
  n_clusters = static_cast<int64_t>(cutoffs.size()) - 1;
  head_size = shortlist_size + n_clusters;
  head = register_module("head",
                         Linear(LinearOptions(o.in_features(), head_size).bias(o.head_bias())));
  tail = register_module("tail", ModuleList());
  for (std::size_t i = 0; i + 1 < cutoffs.size(); ++i) {
    const double divisor = std::pow(o.div_value(), static_cast<double>(i + 1));
    const auto features = static_cast<int64_t>(static_cast<double>(o.in_features()) / divisor);
    tail->push_back(
        Sequential(Linear(LinearOptions(o.in_features(), features).bias(false)),
                   Linear(LinearOptions(features, cutoffs[i + 1] - cutoffs[i]).bias(false))));
  }
}

void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (std::size_t i = 0; i < tail->size(); ++i) {
    auto& layers = tail->at<SequentialImpl>(i);
    layers.at<LinearImpl>(0).reset_parameters();
    layers.at<LinearImpl>(1).reset_parameters();
  }
}

void AdaptiveLogSoftmaxWithLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "AdaptiveLogSoftmaxWithLoss";
}

Tensor AdaptiveLogSoftmaxWithLossImpl::cluster_log_prob(std::size_t cluster, const Tensor& input) {
  return tail->at<SequentialImpl>(cluster).forward<Tensor>(input).log_softmax(1);
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const Tensor& input, const Tensor& target) {
  TENON_CHECK(input.dim() == 2 && target.dim() == 1 && input.size(0) == target.size(0), ValueError,
              "Input and target should have the same size in the batch dimension, got ",
              input.sizes(), " and ", target.sizes());
  const Tensor classes = target.to(kLong);
  TENON_CHECK(classes.numel() == 0 ||
                  !((classes < 0) | (classes >= options.n_classes())).any().item<bool>(),
              IndexError, "Target values should be in [0, ", options.n_classes() - 1,
              "], but other values were found");
  // What the head is asked for: the class itself, or its cluster.
  Tensor wanted = classes.clone();
  Tensor output = tenon::zeros({classes.numel()}, input.options().requires_grad(std::nullopt));
  for (std::size_t i = 0; i + 1 < cutoffs.size(); ++i) {
    const Tensor inside = (classes >= cutoffs[i]) & (classes < cutoffs[i + 1]);
    const Tensor places = inside.nonzero().squeeze(1);
    if (places.numel() == 0) continue;
    wanted.masked_fill_(inside, shortlist_size + static_cast<int64_t>(i));
    const Tensor within = classes.index_select(0, places) - cutoffs[i];
    const Tensor log_probs = cluster_log_prob(i, input.index_select(0, places));
    output = output.index_add(0, places, log_probs.gather(1, within.unsqueeze(1)).squeeze(1));
  }
  output = output + head(input).log_softmax(1).gather(1, wanted.unsqueeze(1)).squeeze(1);
  return {output, (-output).mean().item<double>()};
}

Tensor AdaptiveLogSoftmaxWithLossImpl::full_log_prob(const Tensor& input,
                                                     const Tensor& head_output) {
  const Tensor of_head = head_output.log_softmax(1);
  std::vector<Tensor> parts{of_head.narrow(1, 0, shortlist_size)};
  for (std::size_t i = 0; i + 1 < cutoffs.size(); ++i)
    parts.push_back(cluster_log_prob(i, input) +
                    of_head.narrow(1, shortlist_size + static_cast<int64_t>(i), 1));
  return tenon::cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const Tensor& input) {
  return full_log_prob(input, head(input));
}

Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const Tensor& input) {
  const Tensor head_output = head(input);
  const Tensor best = head_output.argmax(1);
  // Only where the head prefers a cluster do the tails matter.
  const Tensor places = (best >= shortlist_size).nonzero().squeeze(1);
  if (places.numel() == 0) return best;
  const Tensor full =
      full_log_prob(input.index_select(0, places), head_output.index_select(0, places));
  return best.index_copy(0, places, full.argmax(1));
}

}  // namespace nn
}  // namespace tenon
