// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/loss.h"

#include <ostream>
#include <utility>

#include "tenon/core/sizes.h"
#include "tenon/nn/functional/loss.h"
#include "tenon/nn/modules/shown_namespace.h"

namespace tenon {
namespace nn {

L1LossImpl::L1LossImpl(L1LossOptions options_) : options(std::move(options_)) {}
void L1LossImpl::reset() {}
Tensor L1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::l1_loss(input, target, options);
}
void L1LossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "L1Loss()";
}

MSELossImpl::MSELossImpl(MSELossOptions options_) : options(std::move(options_)) {}
void MSELossImpl::reset() {}
Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::mse_loss(input, target, options);
}
void MSELossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "MSELoss()";
}

SmoothL1LossImpl::SmoothL1LossImpl(SmoothL1LossOptions options_) : options(std::move(options_)) {}
void SmoothL1LossImpl::reset() {}
Tensor SmoothL1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::smooth_l1_loss(input, target, options);
}
void SmoothL1LossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "SmoothL1Loss()";
}

HuberLossImpl::HuberLossImpl(HuberLossOptions options_) : options(std::move(options_)) {}
void HuberLossImpl::reset() {}
Tensor HuberLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::huber_loss(input, target, options);
}
void HuberLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "HuberLoss()";
}

NLLLossImpl::NLLLossImpl(NLLLossOptions options_) : options(std::move(options_)) {
  NLLLossImpl::reset();
}
void NLLLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  NLLLossOptions call = options;
  call.weight(weight);
  return functional::nll_loss(input, target, call);
}
void NLLLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "NLLLoss()";
}

CrossEntropyLossImpl::CrossEntropyLossImpl(CrossEntropyLossOptions options_)
    : options(std::move(options_)) {
  CrossEntropyLossImpl::reset();
}
void CrossEntropyLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  CrossEntropyLossOptions call = options;
  call.weight(weight);
  return functional::cross_entropy(input, target, call);
}
void CrossEntropyLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "CrossEntropyLoss()";
}

LinearCrossEntropyLossImpl::LinearCrossEntropyLossImpl(LinearCrossEntropyLossOptions options_)
    : options(std::move(options_)) {
  const Tensor& w = options.weight();
  TENON_CHECK(!w.defined() || (w.dim() == 1 && w.size(0) == options.num_classes()), ValueError,
              "LinearCrossEntropyLoss: expected weight shape [", options.num_classes(), "], got ",
              w.sizes());
  const double smoothing = options.label_smoothing();
  TENON_CHECK(smoothing >= 0 && smoothing <= 1, ValueError, "LinearCrossEntropyLoss: expected ",
              "label_smoothing to be in range [0, 1], got ", smoothing);
  LinearCrossEntropyLossImpl::reset();
}
void LinearCrossEntropyLossImpl::reset() {
  core::Size rows = options.num_classes();
  for (int64_t n : options.out_features()) rows = rows * n;
  linear = register_module("linear",
                           Linear(LinearOptions(options.in_features(),
                                                rows.get("LinearCrossEntropyLoss", "out_features"))
                                      .bias(options.bias())));
  weight = register_buffer("weight", options.weight());
}
Tensor LinearCrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  std::vector<int64_t> sizes = options.out_features();
  sizes.insert(sizes.begin(), options.num_classes());
  const Tensor& bias = linear->bias;
  functional::LinearCrossEntropyFuncOptions call;
  call.linear_bias(bias.defined() ? bias.view(sizes) : bias)
      .weight(weight)
      .ignore_index(options.ignore_index())
      .reduction(options.reduction())
      .label_smoothing(options.label_smoothing());
  sizes.push_back(options.in_features());
  return functional::linear_cross_entropy(input, linear->weight.view(sizes), target, call);
}
void LinearCrossEntropyLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace()
         << "LinearCrossEntropyLoss(in_features=" << options.in_features()
         << ", num_classes=" << options.num_classes() << ")";
}

BCELossImpl::BCELossImpl(BCELossOptions options_) : options(std::move(options_)) {
  BCELossImpl::reset();
}
void BCELossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor BCELossImpl::forward(const Tensor& input, const Tensor& target) {
  BCELossOptions call = options;
  call.weight(weight);
  return functional::binary_cross_entropy(input, target, call);
}
void BCELossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "BCELoss()";
}

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options_)
    : options(std::move(options_)) {
  BCEWithLogitsLossImpl::reset();
}
void BCEWithLogitsLossImpl::reset() {
  weight = register_buffer("weight", options.weight());
  pos_weight = register_buffer("pos_weight", options.pos_weight());
}
Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  BCEWithLogitsLossOptions call = options;
  call.weight(weight).pos_weight(pos_weight);
  return functional::binary_cross_entropy_with_logits(input, target, call);
}
void BCEWithLogitsLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "BCEWithLogitsLoss()";
}

KLDivLossImpl::KLDivLossImpl(KLDivLossOptions options_) : options(std::move(options_)) {}
void KLDivLossImpl::reset() {}
Tensor KLDivLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::kl_div(input, target, options);
}
void KLDivLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "KLDivLoss()";
}

PoissonNLLLossImpl::PoissonNLLLossImpl(PoissonNLLLossOptions options_)
    : options(std::move(options_)) {}
void PoissonNLLLossImpl::reset() {}
Tensor PoissonNLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::poisson_nll_loss(input, target, options);
}
void PoissonNLLLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "PoissonNLLLoss()";
}

GaussianNLLLossImpl::GaussianNLLLossImpl(GaussianNLLLossOptions options_)
    : options(std::move(options_)) {}
void GaussianNLLLossImpl::reset() {}
Tensor GaussianNLLLossImpl::forward(const Tensor& input, const Tensor& target, const Tensor& var) {
  return functional::gaussian_nll_loss(input, target, var, options);
}
void GaussianNLLLossImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "GaussianNLLLoss(full=" << options.full()
         << ")";
}

HingeEmbeddingLossImpl::HingeEmbeddingLossImpl(HingeEmbeddingLossOptions options_)
    : options(std::move(options_)) {}
void HingeEmbeddingLossImpl::reset() {}
Tensor HingeEmbeddingLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::hinge_embedding_loss(input, target, options);
}
void HingeEmbeddingLossImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "HingeEmbeddingLoss(margin=" << options.margin() << ")";
}

SoftMarginLossImpl::SoftMarginLossImpl(SoftMarginLossOptions options_)
    : options(std::move(options_)) {}
void SoftMarginLossImpl::reset() {}
Tensor SoftMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::soft_margin_loss(input, target, options);
}
void SoftMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "SoftMarginLoss()";
}

MultiMarginLossImpl::MultiMarginLossImpl(MultiMarginLossOptions options_)
    : options(std::move(options_)) {
  MultiMarginLossImpl::reset();
}
void MultiMarginLossImpl::reset() {
  TENON_CHECK(options.p() == 1 || options.p() == 2, ValueError,
              "MultiMarginLoss: p must be 1 or 2, got ", options.p());
  TENON_CHECK(!options.weight().defined() || options.weight().dim() == 1, ValueError,
              "MultiMarginLoss: weight must have one dimension, got shape ",
              options.weight().sizes());
  weight = register_buffer("weight", options.weight());
}
Tensor MultiMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  MultiMarginLossOptions call = options;
  call.weight(weight);
  return functional::multi_margin_loss(input, target, call);
}
void MultiMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "MultiMarginLoss(p=" << options.p()
         << ", margin=" << options.margin() << ")";
}

MultiLabelMarginLossImpl::MultiLabelMarginLossImpl(MultiLabelMarginLossOptions options_)
    : options(std::move(options_)) {}
void MultiLabelMarginLossImpl::reset() {}
Tensor MultiLabelMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::multilabel_margin_loss(input, target, options);
}
void MultiLabelMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "MultiLabelMarginLoss()";
}

MultiLabelSoftMarginLossImpl::MultiLabelSoftMarginLossImpl(MultiLabelSoftMarginLossOptions options_)
    : options(std::move(options_)) {
  MultiLabelSoftMarginLossImpl::reset();
}
void MultiLabelSoftMarginLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor MultiLabelSoftMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  MultiLabelSoftMarginLossOptions call = options;
  call.weight(weight);
  return functional::multilabel_soft_margin_loss(input, target, call);
}
void MultiLabelSoftMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "MultiLabelSoftMarginLoss()";
}

CosineEmbeddingLossImpl::CosineEmbeddingLossImpl(CosineEmbeddingLossOptions options_)
    : options(std::move(options_)) {}
void CosineEmbeddingLossImpl::reset() {}
Tensor CosineEmbeddingLossImpl::forward(const Tensor& input1, const Tensor& input2,
                                        const Tensor& target) {
  return functional::cosine_embedding_loss(input1, input2, target, options);
}
void CosineEmbeddingLossImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "CosineEmbeddingLoss(margin=" << options.margin() << ")";
}

MarginRankingLossImpl::MarginRankingLossImpl(MarginRankingLossOptions options_)
    : options(std::move(options_)) {}
void MarginRankingLossImpl::reset() {}
Tensor MarginRankingLossImpl::forward(const Tensor& input1, const Tensor& input2,
                                      const Tensor& target) {
  return functional::margin_ranking_loss(input1, input2, target, options);
}
void MarginRankingLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "MarginRankingLoss()";
}

TripletMarginLossImpl::TripletMarginLossImpl(TripletMarginLossOptions options_)
    : options(std::move(options_)) {}
void TripletMarginLossImpl::reset() {}
Tensor TripletMarginLossImpl::forward(const Tensor& anchor, const Tensor& positive,
                                      const Tensor& negative) {
  return functional::triplet_margin_loss(anchor, positive, negative, options);
}
void TripletMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "TripletMarginLoss(margin=" << options.margin() << ", p=" << options.p()
         << ", eps=" << options.eps() << ", swap=" << options.swap() << ")";
}

TripletMarginWithDistanceLossImpl::TripletMarginWithDistanceLossImpl(
    TripletMarginWithDistanceLossOptions options_)
    : options(std::move(options_)) {}
void TripletMarginWithDistanceLossImpl::reset() {}
Tensor TripletMarginWithDistanceLossImpl::forward(const Tensor& anchor, const Tensor& positive,
                                                  const Tensor& negative) {
  return functional::triplet_margin_with_distance_loss(anchor, positive, negative, options);
}
void TripletMarginWithDistanceLossImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "TripletMarginWithDistanceLoss(margin=" << options.margin()
         << ", swap=" << options.swap() << ")";
}

CTCLossImpl::CTCLossImpl(CTCLossOptions options_) : options(std::move(options_)) {}
void CTCLossImpl::reset() {}
Tensor CTCLossImpl::forward(const Tensor& log_probs, const Tensor& targets,
                            const Tensor& input_lengths, const Tensor& target_lengths) {
  return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}
void CTCLossImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "CTCLoss()";
}

}  // namespace nn
}  // namespace tenon
