// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/loss.h"

#include <cmath>
#include <vector>

#include "tenon/nn/functional/optional_tensor.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/reduction.h"

namespace tenon {
namespace nn {
namespace functional {

using composite::reduced;
using enumtype::reduction_get_enum;

namespace {

std::vector<Tensor> same_shape(const Tensor& input, const Tensor& target) {
  if (input.sizes() == target.sizes()) return {input, target};
  return tenon::broadcast_tensors({input, target});
}

}  // namespace

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  const auto both = same_shape(input, target);
  return tenon::l1_loss(both[0], both[1], reduction_get_enum(options.reduction()));
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  const auto both = same_shape(input, target);
  return tenon::mse_loss(both[0], both[1], reduction_get_enum(options.reduction()));
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                      const SmoothL1LossFuncOptions& options) {
  const auto both = same_shape(input, target);
  const double beta = options.beta().value_or(1.0);
  TENON_CHECK(beta >= 0, ValueError, "smooth_l1_loss: invalid beta: ", beta);
  if (beta == 0) return tenon::l1_loss(both[0], both[1], reduction_get_enum(options.reduction()));
  return tenon::smooth_l1_loss(both[0], both[1], reduction_get_enum(options.reduction()), beta);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                      const SmoothL1LossFuncOptions& options, double beta) {
  TENON_CHECK(!options.beta(), ValueError,
              "expected beta not to be provided in 'options', but got ", *options.beta());
  SmoothL1LossFuncOptions call = options;
  return smooth_l1_loss(input, target, call.beta(beta));
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options) {
  const auto both = same_shape(input, target);
  return tenon::huber_loss(both[0], both[1], reduction_get_enum(options.reduction()),
                           options.delta());
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  return tenon::nll_loss_nd(input, target, optional_tensor(options.weight()),
                            reduction_get_enum(options.reduction()), options.ignore_index());
}

Tensor cross_entropy(const Tensor& input, const Tensor& target,
                     const CrossEntropyFuncOptions& options) {
  return tenon::cross_entropy_loss(input, target, optional_tensor(options.weight()),
                                   reduction_get_enum(options.reduction()), options.ignore_index(),
                                   options.label_smoothing());
}

Tensor linear_cross_entropy(const Tensor& input, const Tensor& linear_weight, const Tensor& target,
                            const LinearCrossEntropyFuncOptions& options) {
  TENON_CHECK(input.dim() == 1 || input.dim() == 2, ValueError,
              "linear_cross_entropy: expected input with dimensionality 1 or 2, got ", input.dim());
  TENON_CHECK(linear_weight.dim() >= 2, ValueError, "linear_cross_entropy: expected linear_weight ",
              "with dimensionality at least 2, got ", linear_weight.dim());
  TENON_CHECK(input.size(-1) == linear_weight.size(-1), ValueError,
              "linear_cross_entropy: expected equal input and linear_weight last dimensions, got ",
              input.size(-1), " and ", linear_weight.size(-1));
  TENON_CHECK(input.dim() == 2 || linear_weight.dim() == 2, ValueError,
              "linear_cross_entropy: linear_weight ", linear_weight.sizes(),
              " requires batched input, got ", input.sizes());
  const auto classes = linear_weight.sizes().slice(0, linear_weight.sizes().size() - 1);
  const Tensor& bias = options.linear_bias();
  TENON_CHECK(!bias.defined() || bias.sizes() == classes, ValueError,
              "linear_cross_entropy: expected linear_bias shape ", classes, ", got ", bias.sizes());
  std::vector<int64_t> sizes = classes.vec();
  if (input.dim() == 2) sizes.insert(sizes.begin(), input.size(0));
  TENON_CHECK(!options.ignore_index() || target.sizes() != IntArrayRef(sizes), ValueError,
              "linear_cross_entropy: ignore_index cannot be specified when target contains ",
              "probabilities");
  const Tensor logits = tenon::linear(input, linear_weight.flatten(0, -2),
                                      optional_tensor(bias.defined() ? bias.flatten() : bias));
  return cross_entropy(logits.reshape(sizes), target,
                       CrossEntropyFuncOptions()
                           .weight(options.weight())
                           .reduction(options.reduction())
                           .ignore_index(options.ignore_index().value_or(-100))
                           .label_smoothing(options.label_smoothing()));
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options) {
  TENON_CHECK(input.sizes() == target.sizes(), ValueError, "binary_cross_entropy: size of target ",
              target.sizes(), " differs from size of input ", input.sizes());
  Tensor weight = options.weight();
  if (weight.defined() && weight.sizes() != target.sizes()) weight = weight.expand(target.sizes());
  return tenon::binary_cross_entropy(input, target, optional_tensor(weight),
                                     reduction_get_enum(options.reduction()));
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  TENON_CHECK(input.sizes() == target.sizes(), ValueError,
              "binary_cross_entropy_with_logits: Target size (", target.sizes(),
              ") must be the same as input size (", input.sizes(), ")");
  return tenon::binary_cross_entropy_with_logits(input, target, optional_tensor(options.weight()),
                                                 optional_tensor(options.pos_weight()),
                                                 reduction_get_enum(options.reduction()));
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options) {
  return tenon::multilabel_margin_loss(input, target, reduction_get_enum(options.reduction()));
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options) {
  if (!options.reduction().is<enumtype::kBatchMean>()) {
    const int64_t reduction = options.reduction().is<enumtype::kNone>()
                                  ? 0
                                  : (options.reduction().is<enumtype::kMean>() ? 1 : 2);
    return tenon::kl_div(input, target, reduction, options.log_target());
  }
  const Tensor sum = tenon::kl_div(input, target, 2, options.log_target());
  return input.dim() == 0 ? sum : sum / input.size(0);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                        const PoissonNLLLossFuncOptions& options) {
  return tenon::poisson_nll_loss(input, target, options.log_input(), options.full(), options.eps(),
                                 reduction_get_enum(options.reduction()));
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNLLLossFuncOptions& options) {
  // var may leave out the last dimension or have size 1 there: one variance for a whole vector.
  Tensor variance = var;
  if (variance.sizes() != input.sizes() && variance.dim() == input.dim() - 1)
    variance = variance.unsqueeze(-1);
  Tensor limited = variance;
  {
    NoGradGuard no_grad;
    TENON_CHECK(!(variance < 0).any().item<bool>(), ValueError,
                "gaussian_nll_loss: var has negative entries");
    limited = variance.clone().clamp_min_(options.eps());
  }
  // The limit changes the value, not the gradient.
  variance = variance + (limited - variance.detach());
  const Tensor difference = input - target;
  Tensor loss = (variance.log() + difference * difference / variance) * 0.5;
  if (options.full()) loss = loss + 0.5 * std::log(6.283185307179586);
  return reduced("gaussian_nll_loss", loss, reduction_get_enum(options.reduction()));
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                            const HingeEmbeddingLossFuncOptions& options) {
  return tenon::hinge_embedding_loss(input, target, options.margin(),
                                     reduction_get_enum(options.reduction()));
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target,
                        const SoftMarginLossFuncOptions& options) {
  TENON_CHECK(input.sizes() == target.sizes(), ValueError, "soft_margin_loss: size of target ",
              target.sizes(), " differs from size of input ", input.sizes());
  return tenon::soft_margin_loss(input, target, reduction_get_enum(options.reduction()));
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginLossFuncOptions& options) {
  return tenon::multi_margin_loss(input, target, options.p(), options.margin(),
                                  optional_tensor(options.weight()),
                                  reduction_get_enum(options.reduction()));
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options) {
  return composite::multilabel_soft_margin_loss(input, target, optional_tensor(options.weight()),
                                                reduction_get_enum(options.reduction()));
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options) {
  return tenon::cosine_embedding_loss(input1, input2, target, options.margin(),
                                      reduction_get_enum(options.reduction()));
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options) {
  return tenon::margin_ranking_loss(input1, input2, target, options.margin(),
                                    reduction_get_enum(options.reduction()));
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options) {
  return tenon::triplet_margin_loss(anchor, positive, negative, options.margin(), options.p(),
                                    options.eps(), options.swap(),
                                    reduction_get_enum(options.reduction()));
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                         const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options) {
  const auto distance = [&options](const Tensor& a, const Tensor& b) {
    return options.distance_function() ? (*options.distance_function())(a, b)
                                       : tenon::pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap()) far = tenon::minimum(far, distance(positive, negative));
  return reduced("triplet_margin_with_distance_loss",
                 tenon::clamp_min(near - far + options.margin(), 0),
                 reduction_get_enum(options.reduction()));
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options) {
  return tenon::ctc_loss(log_probs, targets, input_lengths, target_lengths, options.blank(),
                         reduction_get_enum(options.reduction()), options.zero_infinity());
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
